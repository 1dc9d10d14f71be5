LEAVES = ["report"]

with DAG(
    dag_id="failure-not-met",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output, "first_of": first_of},
) as dag: ...
work = KubernetesPodOperator(
    task_id="work",
    **process(["sh", "-c", "echo fine"], outputs=["result=-"]),
)
repair_needs = PythonOperator(
    task_id="repair-needs",
    python_callable=open_gate,
    op_args=[[["failure", "work", ["work"]]]],
    trigger_rule="all_done",
)
repair = KubernetesPodOperator(
    task_id="repair",
    **process(["sh", "-c", "echo repaired"], outputs=["result=-"]),
    pre_execute=run_within("repair-needs"),
)
work >> repair_needs
repair_needs >> repair
report = KubernetesPodOperator(
    task_id="report",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ ti.xcom_pull("work")["result"] | replace("$", "$$") }}',
            '{{ first_of(output(ti, "repair"), "without repair") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[work, repair] >> report
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
report >> run_status
wait_for_all(dag)
