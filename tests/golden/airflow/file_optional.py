with DAG(
    dag_id="file-optional",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "output": output,
        "first_of": first_of,
    },
): ...
absent = KubernetesPodOperator(
    task_id="absent",
    **process_with_files(
        [
            "sh",
            "-c",
            'if [ -e "$COULER_INPUT_note" ]; then cat "$COULER_INPUT_note"; else echo none; fi',
        ],
        before=[["take", "file?", "inputs/note", "notes/no"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_note": "/tmp/couler/inputs/note"},
)
present = KubernetesPodOperator(
    task_id="present",
    **process_with_files(
        [
            "sh",
            "-c",
            'if [ -e "$COULER_INPUT_note" ]; then cat "$COULER_INPUT_note"; else echo none; fi',
        ],
        before=[["take", "file?", "inputs/note", "notes/yes"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_note": "/tmp/couler/inputs/note"},
)
write = KubernetesPodOperator(
    task_id="write",
    **process_with_files(
        ["sh", "-c", 'cd "$COULER_WORK"; echo kept > one'],
        after=[["keep", "file?", "one", "one"], ["keep", "file?", "two", "two"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
read_one = KubernetesPodOperator(
    task_id="read-one",
    **process_with_files(
        [
            "sh",
            "-c",
            'if [ -e "$COULER_INPUT_note" ]; then cat "$COULER_INPUT_note"; else echo none; fi',
        ],
        before=[
            ["take", "file?", "inputs/note", '{{ first_of(output(ti, "write", "one"), "") }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_note": "/tmp/couler/inputs/note"},
)
write >> read_one
read_two = KubernetesPodOperator(
    task_id="read-two",
    **process_with_files(
        [
            "sh",
            "-c",
            'if [ -e "$COULER_INPUT_note" ]; then cat "$COULER_INPUT_note"; else echo none; fi',
        ],
        before=[
            ["take", "file?", "inputs/note", '{{ first_of(output(ti, "write", "two"), "") }}'],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_note": "/tmp/couler/inputs/note"},
)
write >> read_two
