LEAVES = ["one-success", "a-failure", "any-end", "after-skip"]

with DAG(
    dag_id="any-of",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS},
) as dag: ...
good = KubernetesPodOperator(
    task_id="good",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
bad = KubernetesPodOperator(
    task_id="bad",
    **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
)
one_success_needs = PythonOperator(
    task_id="one-success-needs",
    python_callable=open_gate,
    op_args=[[["success", "good", ["good"]], ["success", "bad", ["bad"]]]],
    trigger_rule="all_done",
)
one_success = KubernetesPodOperator(
    task_id="one-success",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("one-success-needs"),
)
[good, bad] >> one_success_needs
one_success_needs >> one_success
no_success_needs = PythonOperator(
    task_id="no-success-needs",
    python_callable=open_gate,
    op_args=[[["success", "bad", ["bad"]]]],
    trigger_rule="all_done",
)
no_success = KubernetesPodOperator(
    task_id="no-success",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("no-success-needs"),
)
bad >> no_success_needs
no_success_needs >> no_success
a_failure_needs = PythonOperator(
    task_id="a-failure-needs",
    python_callable=open_gate,
    op_args=[[["failure", "good", ["good"]], ["failure", "bad", ["bad"]]]],
    trigger_rule="all_done",
)
a_failure = KubernetesPodOperator(
    task_id="a-failure",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("a-failure-needs"),
)
[good, bad] >> a_failure_needs
a_failure_needs >> a_failure
no_failure_needs = PythonOperator(
    task_id="no-failure-needs",
    python_callable=open_gate,
    op_args=[[["failure", "good", ["good"]]]],
    trigger_rule="all_done",
)
no_failure = KubernetesPodOperator(
    task_id="no-failure",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("no-failure-needs"),
)
good >> no_failure_needs
no_failure_needs >> no_failure
any_end_needs = PythonOperator(
    task_id="any-end-needs",
    python_callable=open_gate,
    op_args=[[["success", "bad", ["bad"]], ["completion", "no-success", ["no-success"]]]],
    trigger_rule="all_done",
)
any_end = KubernetesPodOperator(
    task_id="any-end",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("any-end-needs"),
)
[bad, no_success] >> any_end_needs
any_end_needs >> any_end
after_skip_needs = PythonOperator(
    task_id="after-skip-needs",
    python_callable=open_gate,
    op_args=[[["success", "no-failure", ["no-failure"]], ["failure", "good", ["good"]]]],
    trigger_rule="all_done",
)
after_skip = KubernetesPodOperator(
    task_id="after-skip",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("after-skip-needs"),
)
[no_failure, good] >> after_skip_needs
after_skip_needs >> after_skip
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[one_success, a_failure, any_end, after_skip] >> run_status
wait_for_all(dag)
