LEAVES = ["repair"]

with DAG(
    dag_id="handler-of-failure-fails",
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
    **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
)
repair_needs = PythonOperator(
    task_id="repair-needs",
    python_callable=open_gate,
    op_args=[[["failure", "work", ["work"]]]],
    trigger_rule="all_done",
)
repair = KubernetesPodOperator(
    task_id="repair",
    **process(["sh", "-c", "exit 2"], outputs=["result=-"]),
    pre_execute=run_within("repair-needs"),
)
work >> repair_needs
repair_needs >> repair
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
repair >> run_status
