with DAG(
    dag_id="files",
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
write = KubernetesPodOperator(
    task_id="write",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_WORK"; mkdir data; printf "a\\nb\\n" > data/raw'],
        after=[["keep", "file", "raw", "data/raw"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
change = KubernetesPodOperator(
    task_id="change",
    **process_with_files(
        [
            "sh",
            "-c",
            'cd "$COULER_WORK"; cat in/place > out.txt; echo c >> out.txt; echo spoilt > in/place',
        ],
        before=[["take", "file", "in/place", '{{ ti.xcom_pull("write")["raw"] }}']],
        after=[["keep", "file", "changed", "out.txt"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_raw": "/tmp/couler/in/place"},
)
write >> change
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_raw" "$COULER_INPUT_changed"'],
        before=[
            ["take", "file", "inputs/raw", '{{ ti.xcom_pull("write")["raw"] }}'],
            ["take", "file", "inputs/changed", '{{ ti.xcom_pull("change")["changed"] }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_raw": "/tmp/couler/inputs/raw",
        "COULER_INPUT_changed": "/tmp/couler/inputs/changed",
    },
)
[write, change] >> read
