def when_maybe(ti: Any, params: Any) -> bool:
    return params["wanted"] in (True, "true")


with DAG(
    dag_id="or-else-of-run",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"wanted": Param(False, type=["boolean", "string"], pattern="^(true|false)$")},
    user_defined_macros={"PROCESS": PROCESS, "output": output, "first_of": first_of},
): ...
maybe = KubernetesPodOperator(
    task_id="maybe",
    **process(["sh", "-c", "echo there"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_maybe),
)
after = KubernetesPodOperator(
    task_id="after",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(output(ti, "maybe"), "default") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
maybe >> after
