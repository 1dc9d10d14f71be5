INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def when_a(ti: Any, params: Any) -> bool:
    return int(params["n"]) > 10


def when_b(ti: Any, params: Any) -> bool:
    return int(params["n"]) > 10


def when_c(ti: Any, params: Any) -> bool:
    return int(params["n"]) > 10 and int(params["n"]) > 1000


with DAG(
    dag_id="safe-read",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"n": Param(11, **INTEGER)},
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
a = KubernetesPodOperator(
    task_id="a",
    **process(
        ["sh", "-c", "echo $$(($$1 * 2))", "sh", '{{ params["n"] }}'],
        outputs=["result=-"],
    ),
    pre_execute=partial(skip_unless, when_a),
)
b = KubernetesPodOperator(
    task_id="b",
    **process(["sh", "-c", 'echo "$1!"', "sh", '{{ output(ti, "a") }}'], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_b),
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    **process(["sh", "-c", 'echo "$1?"', "sh", '{{ output(ti, "a") }}'], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_c),
)
a >> c
