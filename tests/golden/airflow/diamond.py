with DAG(
    dag_id="diamond",
    schedule=None,
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
a = KubernetesPodOperator(task_id="a", **process(["sh", "-c", "echo 2"], outputs=["result=-"]))
b = KubernetesPodOperator(
    task_id="b",
    **process(["sh", "-c", "echo $$((COULER_INPUT_n + 1))"], outputs=["result=-"]),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_n": '{{ output(ti, "a") }}'},
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    **process(["sh", "-c", "echo $$((COULER_INPUT_n * 5))"], outputs=["result=-"]),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_n": '{{ output(ti, "a") }}'},
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
        ["sh", "-c", 'echo "$1+$2"', "sh", '{{ output(ti, "b") }}', '{{ output(ti, "c") }}'],
        outputs=["result=-"],
    ),
)
[quiet, b, c] >> d
