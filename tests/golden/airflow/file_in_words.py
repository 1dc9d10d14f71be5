with DAG(
    dag_id="file-in-words",
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
        ["sh", "-c", 'echo hello > "$COULER_WORK/data"'],
        after=[["keep", "file", "data", "data"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        ["cat", "/tmp/couler/inputs/data"],
        before=[
            ["take", "file", "/tmp/couler/inputs/data", '{{ ti.xcom_pull("write")["data"] }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_data": "/tmp/couler/inputs/data"},
)
write >> read
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("read")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
read >> end
