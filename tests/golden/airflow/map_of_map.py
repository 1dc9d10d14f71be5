FIRST_ITEMS = [{"item": 1}, {"item": 2}, {"item": 3}]

with DAG(
    dag_id="map-of-map",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "FIRST_ITEMS": FIRST_ITEMS,
        "PROCESS": PROCESS,
        "gathered": gathered,
        "to_text": to_text,
    },
): ...
# What is expanded is a label; each task reads its item by its map index.
first = KubernetesPodOperator.partial(
    task_id="first",
    **process(
        ["sh", "-c", "echo $$(($$1 + 1))", "sh", '{{ FIRST_ITEMS[ti.map_index]["item"] }}'],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(FIRST_ITEMS))])
first_lists = PythonOperator(
    task_id="first-lists",
    python_callable=check_lists,
    op_args=["first", 3, {"result": "int"}],
)
first >> first_lists
second_items = PythonOperator(
    task_id="second-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ gathered(ti, "first", "result", 3, kind="int") }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
second = KubernetesPodOperator.partial(
    task_id="second",
    **process(
        [
            "sh",
            "-c",
            "echo $$(($$1 * 10))",
            "sh",
            '{{ to_text(ti.xcom_pull("second-items", key="rows")[ti.map_index]["item"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=second_items.output)
second_lists = PythonOperator(
    task_id="second-lists",
    python_callable=check_lists,
    op_args=["second", "second-items", {"result": "int"}],
)
second >> second_lists
first_lists >> second_items
third_items = PythonOperator(
    task_id="third-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {
            "a": '{{ gathered(ti, "first", "result", 3, kind="int") }}',
            "b": '{{ gathered(ti, "second", "result", "second-items", kind="int") }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
third = KubernetesPodOperator.partial(
    task_id="third",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ to_text(ti.xcom_pull("third-items", key="rows")[ti.map_index]["a"]) }}',
            '{{ to_text(ti.xcom_pull("third-items", key="rows")[ti.map_index]["b"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=third_items.output)
third_lists = PythonOperator(
    task_id="third-lists",
    python_callable=check_lists,
    op_args=["third", "third-items", {"result": "str"}],
)
third >> third_lists
[first_lists, second_lists] >> third_items
