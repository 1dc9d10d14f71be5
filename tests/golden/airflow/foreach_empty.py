COUNT = """\
import json, os
print(len(json.loads(os.environ["COULER_INPUT_all"])))
"""

with DAG(
    dag_id="foreach-empty",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "to_text": to_text, "gathered": gathered},
): ...
list_ = KubernetesPodOperator(
    task_id="list",
    **process(["sh", "-c", "echo '[]'"], outputs=["result=-"]),
)
each_items = PythonOperator(
    task_id="each-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("list")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("each-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=each_items.output)
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", "each-items", {"result": "str"}],
)
each >> each_lists
list_ >> each_items
again_items = PythonOperator(
    task_id="again-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ gathered(ti, "each", "result", "each-items") }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
again = KubernetesPodOperator.partial(
    task_id="again",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("again-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=again_items.output)
again_lists = PythonOperator(
    task_id="again-lists",
    python_callable=check_lists,
    op_args=["again", "again-items", {"result": "str"}],
)
again >> again_lists
each_lists >> again_items
count = KubernetesPodOperator(
    task_id="count",
    image="python:3.12-slim",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_all": '{{ gathered(ti, "again", "result", "again-items") | replace("$", "$$") }}',
        "COULER_SCRIPT": literal(COUNT),
    },
)
again_lists >> count
