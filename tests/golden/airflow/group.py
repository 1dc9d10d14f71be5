with DAG(
    dag_id="group",
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
start = KubernetesPodOperator(
    task_id="start",
    **process(["sh", "-c", "echo 4"], outputs=["result=-"]),
)
with TaskGroup("work") as work:
    twice = KubernetesPodOperator(
        task_id="twice",
        **process(
            ["sh", "-c", "echo $$(($$1 * 2))", "sh", '{{ ti.xcom_pull("start")["result"] }}'],
            outputs=["result=-"],
        ),
    )
    more = KubernetesPodOperator(
        task_id="more",
        **process(
            ["sh", "-c", "echo $$(($$1 + 1))", "sh", '{{ output(ti, "work.twice") }}'],
            outputs=["result=-"],
        ),
    )
    twice >> more
start >> work
end = KubernetesPodOperator(
    task_id="end",
    **process(
        ["sh", "-c", 'echo "it is $1"', "sh", '{{ output(ti, "work.more") }}'],
        outputs=["result=-"],
    ),
)
work >> end
