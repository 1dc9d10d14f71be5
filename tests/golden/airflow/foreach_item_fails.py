CHECK_ITEMS = [{"item": "one"}, {"item": "bad"}, {"item": "two"}]

with DAG(
    dag_id="foreach-item-fails",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"CHECK_ITEMS": CHECK_ITEMS, "PROCESS": PROCESS, "gathered": gathered},
): ...
# What is expanded is a label; each task reads its item by its map index.
check = KubernetesPodOperator.partial(
    task_id="check",
    **process(
        [
            "sh",
            "-c",
            'test "$1" != bad && echo "$1"',
            "sh",
            '{{ CHECK_ITEMS[ti.map_index]["item"] }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(CHECK_ITEMS))])
check_lists_2 = PythonOperator(
    task_id="check-lists",
    python_callable=check_lists,
    op_args=["check", 3, {"result": "str"}],
)
check >> check_lists_2
after = KubernetesPodOperator(
    task_id="after",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ gathered(ti, "check", "result", 3) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
check_lists_2 >> after
other = KubernetesPodOperator(
    task_id="other",
    **process(["sh", "-c", "echo on"], outputs=["result=-"]),
)
other_end = KubernetesPodOperator(
    task_id="other-end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("other")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
other >> other_end
