with DAG(
    dag_id="linear",
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
a = KubernetesPodOperator(
    task_id="a",
    **process(["sh", "-c", "echo one"], outputs=["result=-"]),
)
b = KubernetesPodOperator(
    task_id="b",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 two"',
            "sh",
            '{{ ti.xcom_pull("a")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    **process(["sh", "-c", 'echo "$COULER_INPUT_before three"'], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_before": '{{ ti.xcom_pull("b")["result"] | replace("$", "$$") }}',
    },
)
b >> c
