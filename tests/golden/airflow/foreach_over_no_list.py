with DAG(
    dag_id="foreach-over-no-list",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "plain": plain, "to_text": to_text},
): ...
object_ = KubernetesPodOperator(
    task_id="object",
    **process(["sh", "-c", "echo '{\"a\": 1}'"], outputs=["result=-"]),
)
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ plain(ti.xcom_pull("object")["result"]) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
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
object_ >> each_items
