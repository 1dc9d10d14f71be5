def when_skipped(ti: Any, params: Any) -> bool:
    return params["wanted"] in (True, "true")


def when_made(ti: Any, params: Any) -> bool:
    return params["wanted"] in (False, "false")


with DAG(
    dag_id="or-else-of-file",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"wanted": Param(False, type=["boolean", "string"], pattern="^(true|false)$")},
    user_defined_macros={
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "output": output,
        "first_of": first_of,
    },
): ...
skipped = KubernetesPodOperator(
    task_id="skipped",
    **process_with_files(
        ["sh", "-c", 'echo here > "$COULER_WORK/f"'],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
    pre_execute=partial(skip_unless, when_skipped),
)
made = KubernetesPodOperator(
    task_id="made",
    **process_with_files(
        ["sh", "-c", 'echo here > "$COULER_WORK/f"'],
        after=[["keep", "file", "f", "f"]],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
    pre_execute=partial(skip_unless, when_made),
)
none = KubernetesPodOperator(
    task_id="none",
    **process_with_files(
        [
            "sh",
            "-c",
            'if [ -e "$COULER_INPUT_f" ]; then cat "$COULER_INPUT_f"; else echo none; fi',
        ],
        before=[
            [
                "take",
                "file?",
                "inputs/f",
                '{{ first_of(first_of(output(ti, "skipped", "f"), "null"), "") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
)
skipped >> none
some = KubernetesPodOperator(
    task_id="some",
    **process_with_files(
        [
            "sh",
            "-c",
            'if [ -e "$COULER_INPUT_f" ]; then cat "$COULER_INPUT_f"; else echo none; fi',
        ],
        before=[
            [
                "take",
                "file?",
                "inputs/f",
                '{{ first_of(first_of(output(ti, "made", "f"), "null"), "") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
)
made >> some
with TaskGroup("inside") as inside:
    read = KubernetesPodOperator(
        task_id="read",
        **process_with_files(
            [
                "sh",
                "-c",
                'if [ -e "$COULER_INPUT_f" ]; then cat "$COULER_INPUT_f"; else echo none; fi',
            ],
            before=[
                [
                    "take",
                    "file?",
                    "inputs/f",
                    '{{ first_of(first_of(output(ti, "skipped", "f"), "null"), "") }}',
                ],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
    )
skipped >> inside
