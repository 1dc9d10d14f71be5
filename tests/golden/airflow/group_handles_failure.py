LEAVES = ["after"]


def work_outputs(ti: Any, params: Any) -> dict[str, Any]:
    check_end(["work.repair"], ti)
    return {}


with DAG(
    dag_id="group-handles-failure",
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
with TaskGroup("work") as work:
    bad = KubernetesPodOperator(
        task_id="bad",
        **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
    )
    repair_needs = PythonOperator(
        task_id="repair-needs",
        python_callable=open_gate,
        op_args=[[["failure", "work.bad", ["work.bad"]]]],
        trigger_rule="all_done",
    )
    repair = KubernetesPodOperator(
        task_id="repair",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        pre_execute=run_within("work.repair-needs"),
    )
    bad >> repair_needs
    repair_needs >> repair
    work_end = PythonOperator(
        task_id="end",
        python_callable=work_outputs,
        trigger_rule="all_done",
    )
    repair >> work_end
after = KubernetesPodOperator(
    task_id="after",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
work >> after
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
after >> run_status
