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
    params={"n": Param(11, **INTEGER)},
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
a = KubernetesPodOperator(
    task_id="a",
    image="busybox:1.36",
    **process(
        ["sh", "-c", "echo $$(($$1 * 2))", "sh", '{{ params["n"] }}'],
        outputs=["result=-"],
    ),
    pre_execute=run_if(when_a),
)
b = KubernetesPodOperator(
    task_id="b",
    image="busybox:1.36",
    **process(["sh", "-c", 'echo "$1!"', "sh", '{{ output(ti, "a") }}'], outputs=["result=-"]),
    pre_execute=run_if(when_b),
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    image="busybox:1.36",
    **process(["sh", "-c", 'echo "$1?"', "sh", '{{ output(ti, "a") }}'], outputs=["result=-"]),
    pre_execute=run_if(when_c),
)
a >> c
