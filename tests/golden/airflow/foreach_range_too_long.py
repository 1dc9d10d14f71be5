with DAG(
    dag_id="foreach-range-too-long",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "numbers": numbers, "to_text": to_text},
): ...
many = KubernetesPodOperator(
    task_id="many",
    **process(["sh", "-c", "echo 1001"], outputs=["result=-"]),
)
word = KubernetesPodOperator(
    task_id="word",
    **process(["sh", "-c", "echo many"], outputs=["result=-"]),
)
long_items = PythonOperator(
    task_id="long-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ numbers("0", count=ti.xcom_pull("many")["result"]) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
long = KubernetesPodOperator.partial(
    task_id="long",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
).expand(labels=long_items.output)
long_lists = PythonOperator(
    task_id="long-lists",
    python_callable=check_lists,
    op_args=["long", "long-items", {"result": "str"}],
)
long >> long_lists
many >> long_items
far_items = PythonOperator(
    task_id="far-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ numbers("0", end=ti.xcom_pull("many")["result"]) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
far = KubernetesPodOperator.partial(
    task_id="far",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
).expand(labels=far_items.output)
far_lists = PythonOperator(
    task_id="far-lists",
    python_callable=check_lists,
    op_args=["far", "far-items", {"result": "str"}],
)
far >> far_lists
many >> far_items
wrong_items = PythonOperator(
    task_id="wrong-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ numbers("0", count=ti.xcom_pull("word")["result"]) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
wrong = KubernetesPodOperator.partial(
    task_id="wrong",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("wrong-items", key="rows")[ti.map_index]["item"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=wrong_items.output)
wrong_lists = PythonOperator(
    task_id="wrong-lists",
    python_callable=check_lists,
    op_args=["wrong", "wrong-items", {"result": "str"}],
)
wrong >> wrong_lists
word >> wrong_items
