with DAG(
    dag_id="directory",
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
        ["sh", "-c", 'cd "$COULER_WORK"; mkdir -p d/sub; echo 1 > d/one; echo 2 > d/sub/two'],
        after=[["keep", "directory", "d", "d"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_d/one" "$COULER_INPUT_d/sub/two"'],
        before=[["take", "directory", "given", '{{ ti.xcom_pull("write")["d"] }}']],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_d": "/tmp/couler/given"},
)
write >> read
