LEAVES = ["work"]


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"work": ti.xcom_pull("work")["result"]}


with DAG(
    dag_id="exit-handler-fails",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS},
): ...
work = KubernetesPodOperator(
    task_id="work",
    **process(["sh", "-c", "echo done"], outputs=["result=-"]),
)
with TaskGroup("exit-broken") as exit_broken:
    exit_broken_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    bad = KubernetesPodOperator(
        task_id="bad",
        **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
    )
    exit_broken_when >> bad
    after = KubernetesPodOperator(
        task_id="after",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
    )
    bad >> after
work >> exit_broken
with TaskGroup("exit-fine") as exit_fine:
    exit_fine_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    say = KubernetesPodOperator(
        task_id="say",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
    )
    exit_fine_when >> say
work >> exit_fine
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[[*LEAVES, "exit-broken.after", "exit-fine.say"]],
    trigger_rule="all_done",
)
[work, exit_broken, exit_fine] >> run_status
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
run_status >> run_outputs
