INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def when_as_number(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("nine")["result"], "<", 10)


def when_as_text(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("nine")["result"], "<", "10")


def when_equal_number(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("nine")["result"], "==", 9.0)


def when_flag(ti: Any, params: Any) -> bool:
    return params["flag"] in (True, "true")


def when_list(ti: Any, params: Any) -> bool:
    return compare(params["list"], "==", [1, 2])


def when_and(ti: Any, params: Any) -> bool:
    return int(params["n"]) == 10 and not int(params["n"]) < 10


def when_or(ti: Any, params: Any) -> bool:
    return int(params["n"]) < 10 or int(params["n"]) < 10


def when_short(ti: Any, params: Any) -> bool:
    return int(params["n"]) == 10 or compare(ti.xcom_pull("word")["result"], ">", 1)


with DAG(
    dag_id="condition-operators",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={
        "n": Param(10, **INTEGER),
        "flag": Param(True, type=["boolean", "string"], pattern="^(true|false)$"),
        "list": Param([1, 2], type="array"),
    },
    user_defined_macros={"PROCESS": PROCESS},
): ...
nine = KubernetesPodOperator(
    task_id="nine",
    **process(["sh", "-c", "echo 9"], outputs=["result=-"]),
)
as_number = KubernetesPodOperator(
    task_id="as-number",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_as_number),
)
nine >> as_number
as_text = KubernetesPodOperator(
    task_id="as-text",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_as_text),
)
nine >> as_text
equal_number = KubernetesPodOperator(
    task_id="equal-number",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_equal_number),
)
nine >> equal_number
flag = KubernetesPodOperator(
    task_id="flag",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_flag),
)
list_ = KubernetesPodOperator(
    task_id="list",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_list),
)
and_ = KubernetesPodOperator(
    task_id="and",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_and),
)
or_ = KubernetesPodOperator(
    task_id="or",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_or),
)
short = KubernetesPodOperator(
    task_id="short",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_short),
)
word = KubernetesPodOperator(
    task_id="word",
    **process(["sh", "-c", "echo word"], outputs=["result=-"]),
)
word >> short
