def when_maybe(ti: Any, params: Any) -> bool:
    return params["wanted"] in (True, "true")


with DAG(
    dag_id="or-else-of-skipped",
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
    image="busybox:1.36",
    **process(["sh", "-c", "echo '{\"n\": 1}'"], outputs=["result=-"]),
    pre_execute=run_if(when_maybe),
)
plain_2 = KubernetesPodOperator(
    task_id="plain",
    image="busybox:1.36",
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
    image="busybox:1.36",
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
    image="busybox:1.36",
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
