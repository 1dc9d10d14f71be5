with DAG(
    dag_id="diamond",
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
a = KubernetesPodOperator(task_id="a", **process(["sh", "-c", "echo 2"], outputs=["result=-"]))
b = KubernetesPodOperator(
    task_id="b",
    **process(["sh", "-c", "echo $$((COULER_INPUT_n + 1))"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_n": '{{ ti.xcom_pull("a")["result"] }}',
    },
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    **process(["sh", "-c", "echo $$((COULER_INPUT_n * 5))"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_n": '{{ ti.xcom_pull("a")["result"] }}',
    },
)
a >> c
quiet = KubernetesPodOperator(
    task_id="quiet",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
a >> quiet
d = KubernetesPodOperator(
    task_id="d",
    **process(
        [
            "sh",
            "-c",
            'echo "$1+$2"',
            "sh",
            '{{ ti.xcom_pull("b")["result"] }}',
            '{{ ti.xcom_pull("c")["result"] }}',
        ],
        outputs=["result=-"],
    ),
)
[quiet, b, c] >> d
