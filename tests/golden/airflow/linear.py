with DAG(
    dag_id="linear",
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
a = KubernetesPodOperator(
    task_id="a",
    image="busybox:1.36",
    **process(["sh", "-c", "echo one"], outputs=["result=-"]),
)
b = KubernetesPodOperator(
    task_id="b",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'echo "$1 two"', "sh", '{{ output(ti, "a") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    image="busybox:1.36",
    **process(["sh", "-c", 'echo "$COULER_INPUT_before three"'], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_before": '{{ output(ti, "b") | replace("$", "$$") }}',
    },
)
b >> c
