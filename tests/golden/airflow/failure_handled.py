LEAVES = ["repair"]

with DAG(
    dag_id="failure-handled",
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
fragile = KubernetesPodOperator(
    task_id="fragile",
    **process(["sh", "-c", "exit 3"], outputs=["result=-"]),
)
repair_needs = PythonOperator(
    task_id="repair-needs",
    python_callable=open_gate,
    op_args=[[["failure", "fragile", ["fragile"]]]],
    trigger_rule="all_done",
)
repair = KubernetesPodOperator(
    task_id="repair",
    **process(["sh", "-c", "echo repaired"], outputs=["result=-"]),
    pre_execute=run_within("repair-needs"),
)
fragile >> repair_needs
repair_needs >> repair
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
repair >> run_status
