with DAG(
    dag_id="file-archived",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"FILES": FILES, "PROCESS": PROCESS, "place": place},
): ...
make = KubernetesPodOperator(
    task_id="make",
    **with_helper(
        process_with_files(
            [
                "sh",
                "-c",
                'cd "$COULER_WORK"; mkdir -p folder/deep; echo a > folder/a; echo b > folder/deep/b; echo c > note',
            ],
            after=[
                ["keep", "directory", "folder", "folder"],
                [
                    "put",
                    "directory",
                    "folder",
                    '{"kind": "zip"}',
                    {"kind": "s3", "key": ""},
                    "key",
                    "packed/folder.zip",
                ],
                ["keep", "file", "note", "note"],
                [
                    "put",
                    "file",
                    "note",
                    '{"kind": "tar", "level": 0}',
                    {"kind": "s3", "key": ""},
                    "key",
                    "packed/note.tgz",
                ],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        repository="/couler/files",
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        [
            "sh",
            "-c",
            'cat "$COULER_INPUT_folder/a" "$COULER_INPUT_folder/deep/b" "$COULER_INPUT_note"',
        ],
        before=[
            ["take", "directory", "inputs/folder", '{{ ti.xcom_pull("make")["folder"] }}'],
            ["take", "file", "inputs/note", '{{ ti.xcom_pull("make")["note"] }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_folder": "/tmp/couler/inputs/folder",
        "COULER_INPUT_note": "/tmp/couler/inputs/note",
    },
)
make >> read
fetch = KubernetesPodOperator(
    task_id="fetch",
    **with_helper(
        process_with_files(
            [
                "sh",
                "-c",
                'cat "$$COULER_INPUT_folder/deep/b"; test "$$(wc -c < "$$COULER_INPUT_packed")" -gt 50',
            ],
            before=[
                [
                    "get",
                    "directory",
                    "inputs/folder",
                    '{"kind": "zip"}',
                    {"kind": "s3", "key": ""},
                    "key",
                    "packed/folder.zip",
                ],
                ["take", "file", "inputs/packed", "packed/folder.zip"],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        repository="/couler/files",
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_folder": "/tmp/couler/inputs/folder",
        "COULER_INPUT_packed": "/tmp/couler/inputs/packed",
    },
)
make >> fetch
