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
    return decode(ti.xcom_pull("second")["float"], "float") == 1


def when_seven(ti: Any, params: Any) -> bool:
    return ti.xcom_pull("second")["str"] == "7"


def when_null(ti: Any, params: Any) -> bool:
    return compare(decode(ti.xcom_pull("second")["null"]), "==", None)


def when_off(ti: Any, params: Any) -> bool:
    return decode(ti.xcom_pull("second")["bool"], "bool")


with DAG(
    dag_id="typed-values",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS},
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
        "COULER_INPUT_str": '{{ ti.xcom_pull("first")["str"] | replace("$", "$$") }}',
        "COULER_INPUT_int": '{{ ti.xcom_pull("first")["int"] }}',
        "COULER_INPUT_float": '{{ ti.xcom_pull("first")["float"] }}',
        "COULER_INPUT_small": '{{ ti.xcom_pull("first")["small"] }}',
        "COULER_INPUT_bool": '{{ ti.xcom_pull("first")["bool"] }}',
        "COULER_INPUT_list": '{{ ti.xcom_pull("first")["list"] | replace("$", "$$") }}',
        "COULER_INPUT_dict": '{{ ti.xcom_pull("first")["dict"] | replace("$", "$$") }}',
        "COULER_INPUT_null": '{{ ti.xcom_pull("first")["null"] | replace("$", "$$") }}',
        "COULER_INPUT_text": '{{ ti.xcom_pull("first")["text"] | replace("$", "$$") }}',
        "COULER_INPUT_number": '{{ ti.xcom_pull("first")["number"] | replace("$", "$$") }}',
        "COULER_SCRIPT": literal(FIRST),
    },
)
first >> second
one = KubernetesPodOperator(
    task_id="one",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_one),
)
second >> one
seven = KubernetesPodOperator(
    task_id="seven",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_seven),
)
second >> seven
null = KubernetesPodOperator(
    task_id="null",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_null),
)
second >> null
off = KubernetesPodOperator(
    task_id="off",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_off),
)
second >> off
