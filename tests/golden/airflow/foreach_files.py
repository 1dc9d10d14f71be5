WRITE_ITEMS = [{"item": "a"}, {"item": "b"}, {"item": "c"}]

with DAG(
    dag_id="foreach-files",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "WRITE_ITEMS": WRITE_ITEMS,
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "gathered": gathered,
        "lines": lines,
        "to_text": to_text,
    },
): ...
# What is expanded is a label; each task reads its item by its map index.
write = KubernetesPodOperator.partial(
    task_id="write",
    **process_with_files(
        [
            "sh",
            "-c",
            'echo "$1" > "$COULER_WORK/f"',
            "sh",
            '{{ WRITE_ITEMS[ti.map_index]["item"] }}',
        ],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
).expand(labels=[{"couler-item": str(index)} for index in range(len(WRITE_ITEMS))])
write_lists = PythonOperator(
    task_id="write-lists",
    python_callable=check_lists,
    op_args=["write", 3, {"result": "str", "f": "file"}],
)
write >> write_lists
all_ = KubernetesPodOperator(
    task_id="all",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_files" && ls && cat 0 1 2'],
        before=[["each", "file", "files", '{{ lines(gathered(ti, "write", "f", 3)) }}']],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
)
write_lists >> all_
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ gathered(ti, "write", "f", 3) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_f"'],
        before=[
            [
                "take",
                "file",
                "inputs/f",
                '{{ to_text(ti.xcom_pull("each-items", key="rows")[ti.map_index]["item"]) }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
).expand(labels=each_items.output)
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", "each-items", {"result": "str"}],
)
each >> each_lists
write_lists >> each_items
