with DAG(
    dag_id="environment",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "joined": joined},
): ...
n = KubernetesPodOperator(task_id="n", **process(["sh", "-c", "echo 4"], outputs=["result=-"]))
shows = KubernetesPodOperator(
    task_id="shows",
    **process(["sh", "-c", 'echo "$$PLAIN $$NUMBER $$JOINED $$(pwd)"'], outputs=["result=-"]),
    env_vars={
        "COULER_DIR": "/usr",
        "PLAIN": "a b",
        "NUMBER": '{{ ti.xcom_pull("n")["result"] }}',
        "JOINED": '{{ joined("<", ti.xcom_pull("n")["result"], ">") | replace("$", "$$") }}',
    },
)
n >> shows
writes = KubernetesPodOperator(
    task_id="writes",
    **process(
        ["sh", "-c", 'test -z "$$(ls "$$COULER_WORK")" && echo x > "$$COULER_WORK/x"'],
        outputs=["result=-"],
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
again = KubernetesPodOperator(
    task_id="again",
    **process(
        ["sh", "-c", 'test -z "$$(ls "$$COULER_WORK")" && echo empty'],
        outputs=["result=-"],
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
writes >> again
