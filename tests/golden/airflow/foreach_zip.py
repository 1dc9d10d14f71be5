with DAG(
    dag_id="foreach-zip",
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
numbers_2 = KubernetesPodOperator(
    task_id="numbers",
    **process(["sh", "-c", "echo '[1, 2, 3]'"], outputs=["result=-"]),
)
pair_items = PythonOperator(
    task_id="pair-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {
            "letter": '["a","b","c"]',
            "number": '{{ ti.xcom_pull("numbers")["result"] }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
pair = KubernetesPodOperator.partial(
    task_id="pair",
    **process(
        [
            "sh",
            "-c",
            'echo "$1$2"',
            "sh",
            '{{ to_text(ti.xcom_pull("pair-items", key="rows")[ti.map_index]["letter"]) }}',
            '{{ to_text(ti.xcom_pull("pair-items", key="rows")[ti.map_index]["number"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=pair_items.output)
pair_lists = PythonOperator(
    task_id="pair-lists",
    python_callable=check_lists,
    op_args=["pair", "pair-items", {"result": "str"}],
)
pair >> pair_lists
numbers_2 >> pair_items
