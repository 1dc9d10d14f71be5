with DAG(
    dag_id="output-not-written",
    user_defined_macros={"PROCESS": PROCESS, "FILES": FILES, "place": place},
): ...
value = KubernetesPodOperator(
    task_id="value",
    image="busybox:1.36",
    **process(["sh", "-c", "echo lost"], outputs=["result=-", "n=n"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
file = KubernetesPodOperator(
    task_id="file",
    image="busybox:1.36",
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
    image="busybox:1.36",
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
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
value >> after
