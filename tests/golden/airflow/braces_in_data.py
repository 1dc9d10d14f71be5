with DAG(
    dag_id="braces-in-data",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "python:3.12-slim",
    },
    user_defined_macros={"PROCESS": PROCESS, "to_text": to_text, "joined": joined},
): ...
args = KubernetesPodOperator(
    task_id="args",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            literal("{{inputs.parameters.x}}"),
            literal("{{=1+1}}"),
            literal("{{workflow.name}} {{ item }} {{"),
        ],
        outputs=["result=-"],
    ),
)
items_items = PythonOperator(
    task_id="items-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("args")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
items = KubernetesPodOperator.partial(
    task_id="items",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ to_text(ti.xcom_pull("items-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=items_items.output)
items_lists = PythonOperator(
    task_id="items-lists",
    python_callable=check_lists,
    op_args=["items", "items-items", {"result": "list"}],
)
items >> items_lists
args >> items_items
joined_2 = KubernetesPodOperator(
    task_id="joined",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ joined("{{", ti.xcom_pull("args")["result"], "}}") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
args >> joined_2
