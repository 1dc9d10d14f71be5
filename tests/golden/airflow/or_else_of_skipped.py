def when_maybe(ti: Any, params: Any) -> bool:
    return params["wanted"] in (True, "true")


with DAG(
    dag_id="or-else-of-skipped",
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
        "PROCESS": PROCESS,
        "output": output,
        "first_of": first_of,
        "plain": plain,
        "part_of": part_of,
        "joined": joined,
    },
): ...
maybe = KubernetesPodOperator(
    task_id="maybe",
    **process(["sh", "-c", "echo '{\"n\": 1}'"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_maybe),
)
plain_2 = KubernetesPodOperator(
    task_id="plain",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(plain(output(ti, "maybe")), \'{"n":0}\') | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
maybe >> plain_2
inside = KubernetesPodOperator(
    task_id="inside",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(plain(part_of(plain(output(ti, "maybe")), "n")), "-1") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
maybe >> inside
joined_2 = KubernetesPodOperator(
    task_id="joined",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(joined("n is ", plain(part_of(plain(output(ti, "maybe")), "n"))), "no n") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
maybe >> joined_2
