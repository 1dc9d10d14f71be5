with DAG(
    dag_id="archive-travels",
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
pack = KubernetesPodOperator(
    task_id="pack",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_WORK"; mkdir in; echo text > in/file; tar czf in.tgz in'],
        after=[["keep", "file", "packed", "in.tgz"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
unpack = KubernetesPodOperator(
    task_id="unpack",
    **process_with_files(
        [
            "sh",
            "-c",
            'cd "$COULER_WORK"; test -f "$COULER_INPUT_packed"; mkdir here; tar xzf "$COULER_INPUT_packed" -C here; cat here/in/file',
        ],
        before=[["take", "file", "inputs/packed", '{{ ti.xcom_pull("pack")["packed"] }}']],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_packed": "/tmp/couler/inputs/packed"},
)
pack >> unpack
