MAKE_ITEMS = [{"item": "a"}, {"item": "b"}, {"item": "c"}]

with DAG(
    dag_id="foreach-files-kept",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "MAKE_ITEMS": MAKE_ITEMS,
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "encode": encode,
        "joined": joined,
        "gathered": gathered,
        "lines": lines,
    },
): ...
# What is expanded is a label; each task reads its item by its map index.
make = KubernetesPodOperator.partial(
    task_id="make",
    **process_with_files(
        [
            "sh",
            "-c",
            'echo "$1" > "$COULER_WORK/part"',
            "sh",
            '{{ MAKE_ITEMS[ti.map_index]["item"] }}',
        ],
        after=[
            ["keep", "file", "part", "part"],
            [
                "keep",
                "file",
                "",
                "part",
                '{{ joined("parts/", encode(MAKE_ITEMS[ti.map_index]["item"]), "/part") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
).expand(labels=[{"couler-item": str(index)} for index in range(len(MAKE_ITEMS))])
make_lists = PythonOperator(
    task_id="make-lists",
    python_callable=check_lists,
    op_args=["make", 3, {"result": "str", "part": "file"}],
)
make >> make_lists
gather_2 = KubernetesPodOperator(
    task_id="gather",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_parts"/0 "$COULER_INPUT_parts"/2'],
        before=[
            ["each", "file", "inputs/parts", '{{ lines(gathered(ti, "make", "part", 3)) }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_parts": "/tmp/couler/inputs/parts"},
)
make_lists >> gather_2
find = KubernetesPodOperator(
    task_id="find",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_INPUT_parts" && cat a/part b/part c/part'],
        before=[["take", "directory", "inputs/parts", "parts"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_parts": "/tmp/couler/inputs/parts"},
)
make_lists >> find
