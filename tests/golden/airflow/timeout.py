LEAVES = ["look", "in-time"]

with DAG(
    dag_id="timeout",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"shared": Param(type="string")},
    user_defined_macros={"PROCESS": PROCESS},
): ...
slow = KubernetesPodOperator(
    task_id="slow",
    **process(
        [
            "sh",
            "-c",
            'echo x >> "$1/n"; (sleep 30; touch "$1/outlived") & sleep 30',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    retries=1,
    retry_delay=timedelta(seconds=0),
    execution_timeout=timedelta(seconds=3),
)
look_needs = PythonOperator(
    task_id="look-needs",
    python_callable=open_gate,
    op_args=[[["failure", "slow", ["slow"]]]],
    trigger_rule="all_done",
)
look = KubernetesPodOperator(
    task_id="look",
    **process(
        [
            "sh",
            "-c",
            'test -e "$$1/outlived" || echo "$$(wc -l < "$$1/n") attempts"',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("look-needs"),
)
slow >> look_needs
look_needs >> look
in_time = KubernetesPodOperator(
    task_id="in-time",
    **process(["sh", "-c", "echo quick"], outputs=["result=-"]),
    execution_timeout=timedelta(seconds=20),
)
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[look, in_time] >> run_status
