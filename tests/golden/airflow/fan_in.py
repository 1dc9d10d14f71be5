TOTAL = """\
import json, os
print(sum(json.loads(os.environ["COULER_INPUT_squares"])))
"""
SQUARE_ITEMS = [{"item": 3}, {"item": 1}, {"item": 2}]

with DAG(
    dag_id="fan-in",
    user_defined_macros={"SQUARE_ITEMS": SQUARE_ITEMS, "PROCESS": PROCESS, "gathered": gathered},
): ...
# What is expanded is a label; each task reads its item by its map index.
square = KubernetesPodOperator.partial(
    task_id="square",
    image="busybox:1.36",
    **process(
        ["sh", "-c", "echo $$(($$1 * $$1))", "sh", '{{ SQUARE_ITEMS[ti.map_index]["item"] }}'],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(SQUARE_ITEMS))])
square_lists = PythonOperator(
    task_id="square-lists",
    python_callable=check_lists,
    op_args=["square", 3, {"result": "int"}],
)
square >> square_lists
total = KubernetesPodOperator(
    task_id="total",
    image="python:3.12-slim",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_squares": '{{ gathered(ti, "square", "result", 3, kind="int") }}',
        "COULER_SCRIPT": literal(TOTAL),
    },
)
square_lists >> total
