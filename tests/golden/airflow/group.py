with DAG(
    dag_id="group",
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
start = KubernetesPodOperator(
    task_id="start",
    image="busybox:1.36",
    **process(["sh", "-c", "echo 4"], outputs=["result=-"]),
)
with TaskGroup("work") as work:
    twice = KubernetesPodOperator(
        task_id="twice",
        image="busybox:1.36",
        **process(
            ["sh", "-c", "echo $$(($$1 * 2))", "sh", '{{ output(ti, "start") }}'],
            outputs=["result=-"],
        ),
    )
    more = KubernetesPodOperator(
        task_id="more",
        image="busybox:1.36",
        **process(
            ["sh", "-c", "echo $$(($$1 + 1))", "sh", '{{ output(ti, "work.twice") }}'],
            outputs=["result=-"],
        ),
    )
    twice >> more
start >> work
end = KubernetesPodOperator(
    task_id="end",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'echo "it is $1"', "sh", '{{ output(ti, "work.more") }}'],
        outputs=["result=-"],
    ),
)
work >> end
