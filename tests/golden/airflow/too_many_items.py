with DAG(
    dag_id="too-many-items",
    user_defined_macros={"PROCESS": PROCESS, "to_text": to_text},
): ...
list_ = KubernetesPodOperator(
    task_id="list",
    image="python:3.12-slim",
    **process(["python", "-c", "print(list(range(1001)))"], outputs=["result=-"]),
)
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("list")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    image="busybox:1.36",
    **process(
        [
            "sh",
            "-c",
            "true",
            "sh",
            '{{ to_text(ti.xcom_pull("each-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=each_items.output)
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", "each-items", {"result": "str"}],
)
each >> each_lists
list_ >> each_items
