EACH_ITEMS = [{"item": "monday"}, {"item": "tuesday"}]

with DAG(
    dag_id="file-from-location",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"day": Param("monday", type="string")},
    user_defined_macros={
        "FILES": FILES,
        "PROCESS": PROCESS,
        "joined": joined,
        "encode": encode,
        "EACH_ITEMS": EACH_ITEMS,
    },
): ...
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        [
            "sh",
            "-c",
            'cat "$COULER_INPUT_table" "$COULER_INPUT_note"; stat -c %a "$COULER_INPUT_note"',
        ],
        before=[
            [
                "take",
                "file",
                "inputs/table",
                '{{ joined("tables/", params["day"], ".csv") | replace("$", "$$") }}',
            ],
            [
                "text",
                "inputs/note",
                '{{ joined("day: ", params["day"], "\\n") | replace("$", "$$") }}',
            ],
            ["mode", "inputs/note", "640", ""],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_table": "/tmp/couler/inputs/table",
        "COULER_INPUT_note": "/tmp/couler/inputs/note",
    },
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
                '{{ joined("tables/", encode(EACH_ITEMS[ti.map_index]["item"]), ".csv") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_table": "/tmp/couler/inputs/table"},
).expand(labels=[{"couler-item": str(index)} for index in range(len(EACH_ITEMS))])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", 2, {"result": "str"}],
)
each >> each_lists
with TaskGroup("inside") as inside:
    folder = KubernetesPodOperator(
        task_id="folder",
        **process_with_files(
            ["sh", "-c", 'cd "$COULER_INPUT_tables" && ls'],
            before=[
                [
                    "take",
                    "directory",
                    "inputs/tables",
                    '{{ ti.xcom_pull("place")["result"] | replace("$", "$$") }}',
                ],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={
            "COULER_WORK": "/tmp/couler",
            "COULER_INPUT_tables": "/tmp/couler/inputs/tables",
        },
    )
place_2 = KubernetesPodOperator(
    task_id="place",
    **process(["sh", "-c", "echo tables"], outputs=["result=-"]),
)
place_2 >> inside
