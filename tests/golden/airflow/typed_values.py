FIRST = """\
import json, os

for name in ['str', 'int', 'float', 'small', 'bool', 'list', 'dict', 'null', 'text', 'number']:
    text = os.environ["COULER_INPUT_" + name]
    value = text if name == "str" else json.loads(text)
    path = os.path.join(os.environ["COULER_WORK"], name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if name == "str" else json.dumps(value, ensure_ascii=False))
"""


def when_one(ti: Any, params: Any) -> bool:
    return decode(output(ti, "second", "float"), "float") == 1


def when_seven(ti: Any, params: Any) -> bool:
    return output(ti, "second", "str") == "7"


def when_null(ti: Any, params: Any) -> bool:
    return compare(decode(output(ti, "second", "null")), "==", None)


def when_off(ti: Any, params: Any) -> bool:
    return decode(output(ti, "second", "bool"), "bool")


with DAG(
    dag_id="typed-values",
    schedule=None,
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
first = KubernetesPodOperator(
    task_id="first",
    image="python:3.12-slim",
    **process(
        ["python"],
        outputs=[
            "str=str",
            "int=int",
            "float=float",
            "small=small",
            "bool=bool",
            "list=list",
            "dict=dict",
            "null=null",
            "text=text",
            "number=number",
        ],
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_str": "7",
        "COULER_INPUT_int": "-3",
        "COULER_INPUT_float": "1.0",
        "COULER_INPUT_small": "1e-09",
        "COULER_INPUT_bool": "false",
        "COULER_INPUT_list": '[1,"1",[null,true],{}]',
        "COULER_INPUT_dict": '{"a":{"b":[0.5]},"":"é"}',
        "COULER_INPUT_null": "null",
        "COULER_INPUT_text": '"quoted \\" text"',
        "COULER_INPUT_number": "12",
        "COULER_SCRIPT": literal(FIRST),
    },
)
second = KubernetesPodOperator(
    task_id="second",
    image="python:3.12-slim",
    **process(
        ["python"],
        outputs=[
            "str=str",
            "int=int",
            "float=float",
            "small=small",
            "bool=bool",
            "list=list",
            "dict=dict",
            "null=null",
            "text=text",
            "number=number",
        ],
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_str": '{{ output(ti, "first", "str") | replace("$", "$$") }}',
        "COULER_INPUT_int": '{{ output(ti, "first", "int") }}',
        "COULER_INPUT_float": '{{ output(ti, "first", "float") }}',
        "COULER_INPUT_small": '{{ output(ti, "first", "small") }}',
        "COULER_INPUT_bool": '{{ output(ti, "first", "bool") }}',
        "COULER_INPUT_list": '{{ output(ti, "first", "list") | replace("$", "$$") }}',
        "COULER_INPUT_dict": '{{ output(ti, "first", "dict") | replace("$", "$$") }}',
        "COULER_INPUT_null": '{{ output(ti, "first", "null") | replace("$", "$$") }}',
        "COULER_INPUT_text": '{{ output(ti, "first", "text") | replace("$", "$$") }}',
        "COULER_INPUT_number": '{{ output(ti, "first", "number") | replace("$", "$$") }}',
        "COULER_SCRIPT": literal(FIRST),
    },
)
first >> second
one = KubernetesPodOperator(
    task_id="one",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_if(when_one),
)
second >> one
seven = KubernetesPodOperator(
    task_id="seven",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_if(when_seven),
)
second >> seven
null = KubernetesPodOperator(
    task_id="null",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_if(when_null),
)
second >> null
off = KubernetesPodOperator(
    task_id="off",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_if(when_off),
)
second >> off
