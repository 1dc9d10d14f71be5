KNOWN = """\
import json, os
print(json.dumps([json.loads(os.environ["COULER_INPUT_v"])]))
"""
PAIRS_ITEMS = [
    {"a": 'q"u', "b": "it's"},
    {"a": "a\\b", "b": "$(HOME) $$"},
    {"a": "x\ny", "b": '{"k":"v"}'},
    {"a": '{"k":"v"}', "b": "x\ny"},
    {"a": "$(HOME) $$", "b": "a\\b"},
    {"a": "it's", "b": 'q"u'},
]
KNOWN_ITEMS = [
    {"item": 1},
    {"item": "1"},
    {"item": None},
    {"item": True},
    {"item": {"a": 1}},
    {"item": [2, "b"]},
    {"item": 'say "x"'},
]

with DAG(
    dag_id="hostile-items",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "python:3.12-slim",
    },
    user_defined_macros={
        "PROCESS": PROCESS,
        "PAIRS_ITEMS": PAIRS_ITEMS,
        "to_text": to_text,
        "dump_json": dump_json,
        "KNOWN_ITEMS": KNOWN_ITEMS,
    },
): ...
texts = KubernetesPodOperator(
    task_id="texts",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            'q"u',
            "a\\b",
            "x\ny",
            '{"k":"v"}',
            "$$(HOME) $$$$",
            "it's",
        ],
        outputs=["result=-"],
    ),
)
values = KubernetesPodOperator(
    task_id="values",
    **process(
        [
            "python",
            "-c",
            "import json; print(json.dumps([1, '1', None, True, {'a': 1}, [2, 'b'], 'say \"x\"']))",
        ],
        outputs=["result=-"],
    ),
)
# What is expanded is a label; each task reads its item by its map index.
pairs = KubernetesPodOperator.partial(
    task_id="pairs",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ PAIRS_ITEMS[ti.map_index]["a"] | replace("$", "$$") }}',
            '{{ PAIRS_ITEMS[ti.map_index]["b"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(PAIRS_ITEMS))])
pairs_lists = PythonOperator(
    task_id="pairs-lists",
    python_callable=check_lists,
    op_args=["pairs", 6, {"result": "list"}],
)
pairs >> pairs_lists
later_items = PythonOperator(
    task_id="later-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {
            "a": '{{ ti.xcom_pull("texts")["result"] }}',
            "b": '["it\'s","$(HOME) $$","{\\"k\\":\\"v\\"}","x\\ny","a\\\\b","q\\"u"]',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
later = KubernetesPodOperator.partial(
    task_id="later",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            '{{ to_text(ti.xcom_pull("later-items", key="rows")[ti.map_index]["a"]) | replace("$", "$$") }}',
            '{{ to_text(ti.xcom_pull("later-items", key="rows")[ti.map_index]["b"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=later_items.output)
later_lists = PythonOperator(
    task_id="later-lists",
    python_callable=check_lists,
    op_args=["later", "later-items", {"result": "list"}],
)
later >> later_lists
texts >> later_items
# What is expanded is a label; each task reads its item by its map index.
known = KubernetesPodOperator.partial(
    task_id="known",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_v": '{{ dump_json(KNOWN_ITEMS[ti.map_index]["item"]) }}',
        "COULER_SCRIPT": literal(KNOWN),
    },
).expand(labels=[{"couler-item": str(index)} for index in range(len(KNOWN_ITEMS))])
known_lists = PythonOperator(
    task_id="known-lists",
    python_callable=check_lists,
    op_args=["known", 7, {"result": "list"}],
)
known >> known_lists
made_items = PythonOperator(
    task_id="made-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ ti.xcom_pull("values")["result"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
made = KubernetesPodOperator.partial(
    task_id="made",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_v": '{{ ti.xcom_pull("made-items", key="rows")[ti.map_index]["item"] | replace("$", "$$") }}',
        "COULER_SCRIPT": literal(KNOWN),
    },
).expand(labels=made_items.output)
made_lists = PythonOperator(
    task_id="made-lists",
    python_callable=check_lists,
    op_args=["made", "made-items", {"result": "list"}],
)
made >> made_lists
values >> made_items
