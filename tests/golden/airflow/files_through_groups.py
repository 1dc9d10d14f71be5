with DAG(
    dag_id="files-through-groups",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"FILES": FILES, "PROCESS": PROCESS, "place": place, "output": output},
): ...
write = KubernetesPodOperator(
    task_id="write",
    **process_with_files(
        ["sh", "-c", 'echo 1 > "$COULER_WORK/f"'],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
with TaskGroup("work") as work:
    add = KubernetesPodOperator(
        task_id="add",
        **process_with_files(
            ["sh", "-c", 'cd "$COULER_WORK"; cat given > more; echo 2 >> more'],
            before=[["take", "file", "given", '{{ ti.xcom_pull("write")["f"] }}']],
            after=[["keep", "file", "more", "more"]],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/given"},
    )
write >> work
read = KubernetesPodOperator(
    task_id="read",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_f"'],
        before=[
            [
                "take",
                "file",
                "inputs/f",
                '{{ output(ti, "work.add", "more") | replace("$", "$$") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
)
work >> read
