with DAG(
    dag_id="nested-groups",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
with TaskGroup("outer") as outer:
    first = KubernetesPodOperator(
        task_id="first",
        **process(["sh", "-c", "echo $$(($$1 + 1))", "sh", "4"], outputs=["result=-"]),
    )
    with TaskGroup("inner") as inner:
        second = KubernetesPodOperator(
            task_id="second",
            **process(
                ["sh", "-c", "echo $$(($$1 * 10))", "sh", '{{ output(ti, "outer.first") }}'],
                outputs=["result=-"],
            ),
        )
    first >> inner
    third = KubernetesPodOperator(
        task_id="third",
        **process(
            ["sh", "-c", "echo $$(($$1 + 3))", "sh", '{{ output(ti, "outer.inner.second") }}'],
            outputs=["result=-"],
        ),
    )
    inner >> third
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 from $2"',
            "sh",
            '{{ output(ti, "outer.third") }}',
            '{{ output(ti, "outer.first") }}',
        ],
        outputs=["result=-"],
    ),
)
outer >> end
