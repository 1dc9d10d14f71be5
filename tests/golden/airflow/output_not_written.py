with DAG(
    dag_id="output-not-written",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "FILES": FILES, "place": place},
): ...
value = KubernetesPodOperator(
    task_id="value",
    **process(["sh", "-c", "echo lost"], outputs=["result=-", "n=n"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
file = KubernetesPodOperator(
    task_id="file",
    **process_with_files(
        ["sh", "-c", "true"],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
not_a_file = KubernetesPodOperator(
    task_id="not-a-file",
    **process_with_files(
        ["sh", "-c", 'mkdir "$COULER_WORK/f"'],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
after = KubernetesPodOperator(
    task_id="after",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
value >> after
