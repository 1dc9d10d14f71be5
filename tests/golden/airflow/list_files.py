BY_ITEM_ITEMS = [{"item": "2024"}, {"item": "2024/01"}]

with DAG(
    dag_id="list-files",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"folder": Param("tables", type="string")},
    user_defined_macros={
        "joined": joined,
        "output": output,
        "FILES": FILES,
        "PROCESS": PROCESS,
        "to_text": to_text,
        "encode": encode,
        "BY_ITEM_ITEMS": BY_ITEM_ITEMS,
        "gathered": gathered,
    },
): ...
every = KubernetesPodOperator(
    task_id="every",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "", "key", "tables"],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
top = KubernetesPodOperator(
    task_id="top",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "*.csv", "key", "tables"],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
deep = KubernetesPodOperator(
    task_id="deep",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        [
            "result",
            "**/[!b].csv",
            "key",
            '{{ joined(params["folder"], "/2024") | replace("$", "$$") }}',
        ],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
folders = KubernetesPodOperator(
    task_id="folders",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "20??/*", "key", '{{ joined(params["folder"], "/") | replace("$", "$$") }}'],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
none = KubernetesPodOperator(
    task_id="none",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        ["result", "*.zip", "key", "tables"],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
)
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ output(ti, "deep") }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_table"'],
        before=[
            [
                "take",
                "file",
                "inputs/table",
                '{{ to_text(ti.xcom_pull("each-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_table": "/tmp/couler/inputs/table"},
).expand(labels=each_items.output)
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", "each-items", {"result": "str"}],
)
each >> each_lists
deep >> each_items
# What is expanded is a label; each task reads its item by its map index.
by_item = KubernetesPodOperator.partial(
    task_id="by_item",
    image=IO_IMAGE,
    **files_below(
        {"kind": "s3", "key": ""},
        [
            "result",
            "*.csv",
            "key",
            '{{ joined("tables/", encode(BY_ITEM_ITEMS[ti.map_index]["item"])) }}',
        ],
        claim=FILES_CLAIM,
        folder="/couler/files",
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(BY_ITEM_ITEMS))])
by_item_lists = PythonOperator(
    task_id="by_item-lists",
    python_callable=check_lists,
    op_args=["by_item", 2, {"result": "list"}],
)
by_item >> by_item_lists
all_ = KubernetesPodOperator(
    task_id="all",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ gathered(ti, "each", "result", "each-items") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
each_lists >> all_
