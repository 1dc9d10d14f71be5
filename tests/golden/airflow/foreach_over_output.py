with DAG(
    dag_id="foreach-over-output",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "to_text": to_text},
): ...
list_ = KubernetesPodOperator(
    task_id="list",
    **process(["sh", "-c", "echo '[\"x\", 2, [3], null]'"], outputs=["result=-"]),
)
one_items = PythonOperator(
    task_id="one-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("list")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
one = KubernetesPodOperator.partial(
    task_id="one",
    **process(
        [
            "sh",
            "-c",
            'echo "<$1>"',
            "sh",
            '{{ to_text(ti.xcom_pull("one-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=one_items.output)
one_lists = PythonOperator(
    task_id="one-lists",
    python_callable=check_lists,
    op_args=["one", "one-items", {"result": "str"}],
)
one >> one_lists
list_ >> one_items
text = KubernetesPodOperator(
    task_id="text",
    **process(["sh", "-c", "echo '[10, 20]'"], outputs=["result=-"]),
)
from_text_items = PythonOperator(
    task_id="from-text-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("text")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
from_text = KubernetesPodOperator.partial(
    task_id="from-text",
    **process(
        [
            "sh",
            "-c",
            "echo $$(($$1 + 1))",
            "sh",
            '{{ to_text(ti.xcom_pull("from-text-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=from_text_items.output)
from_text_lists = PythonOperator(
    task_id="from-text-lists",
    python_callable=check_lists,
    op_args=["from-text", "from-text-items", {"result": "int"}],
)
from_text >> from_text_lists
text >> from_text_items
