INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}

with DAG(
    dag_id="foreach-range-of-outputs",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"last": Param(1, **INTEGER), "least": Param(-1, **INTEGER)},
    user_defined_macros={
        "PROCESS": PROCESS,
        "numbers": numbers,
        "to_text": to_text,
        "encode": encode,
        "gathered": gathered,
    },
): ...
first = KubernetesPodOperator(
    task_id="first",
    **process(["sh", "-c", "echo 3"], outputs=["result=-"]),
)
text = KubernetesPodOperator(
    task_id="text",
    **process(["sh", "-c", "echo 2"], outputs=["result=-"]),
)
counted_items = PythonOperator(
    task_id="counted-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {
            "item": '{{ numbers(ti.xcom_pull("first")["result"], count=ti.xcom_pull("text")["result"], form="{:02d}") }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
counted = KubernetesPodOperator.partial(
    task_id="counted",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("counted-items", key="rows")[ti.map_index]["item"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=counted_items.output)
counted_lists = PythonOperator(
    task_id="counted-lists",
    python_callable=check_lists,
    op_args=["counted", "counted-items", {"result": "str"}],
)
counted >> counted_lists
[first, text] >> counted_items
down_items = PythonOperator(
    task_id="down-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {
            "item": '{{ numbers(ti.xcom_pull("first")["result"], end=encode(params["last"])) }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
down = KubernetesPodOperator.partial(
    task_id="down",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ to_text(ti.xcom_pull("down-items", key="rows")[ti.map_index]["item"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=down_items.output)
down_lists = PythonOperator(
    task_id="down-lists",
    python_callable=check_lists,
    op_args=["down", "down-items", {"result": "str"}],
)
down >> down_lists
first >> down_items
none_items = PythonOperator(
    task_id="none-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ numbers("0", count=encode(params["least"])) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
none = KubernetesPodOperator.partial(
    task_id="none",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
).expand(labels=none_items.output)
none_lists = PythonOperator(
    task_id="none-lists",
    python_callable=check_lists,
    op_args=["none", "none-items", {"result": "str"}],
)
none >> none_lists
pair_items = PythonOperator(
    task_id="pair-items",
    python_callable=make_rows,
    op_kwargs={
        "lists": {
            "letter": '["a","b","c"]',
            "number": '{{ numbers(encode(params["last"]), end=ti.xcom_pull("first")["result"]) }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
pair = KubernetesPodOperator.partial(
    task_id="pair",
    **process(
        [
            "sh",
            "-c",
            'echo "$1$2"',
            "sh",
            '{{ to_text(ti.xcom_pull("pair-items", key="rows")[ti.map_index]["letter"]) }}',
            '{{ to_text(ti.xcom_pull("pair-items", key="rows")[ti.map_index]["number"]) }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=pair_items.output)
pair_lists = PythonOperator(
    task_id="pair-lists",
    python_callable=check_lists,
    op_args=["pair", "pair-items", {"result": "str"}],
)
pair >> pair_lists
first >> pair_items
with TaskGroup("inside") as inside:
    each_items = PythonOperator(
        task_id="each-items",
        python_callable=make_rows,
        op_kwargs={"lists": {"item": '{{ numbers("1", end=ti.xcom_pull("text")["result"]) }}'}},
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
                '{{ to_text(ti.xcom_pull("inside.each-items", key="rows")[ti.map_index]["item"]) }}',
            ],
            outputs=["result=-"],
        ),
    ).expand(labels=each_items.output)
    each_lists = PythonOperator(
        task_id="each-lists",
        python_callable=check_lists,
        op_args=["inside.each", "inside.each-items", {"result": "str"}],
    )
    each >> each_lists
    shown = KubernetesPodOperator(
        task_id="shown",
        **process(
            [
                "sh",
                "-c",
                'echo "$1"',
                "sh",
                '{{ gathered(ti, "inside.each", "result", "inside.each-items") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    each_lists >> shown
text >> inside
whole_2 = KubernetesPodOperator(
    task_id="whole",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ numbers(ti.xcom_pull("first")["result"], end=encode(params["least"]), form="{:4d}") }}',
        ],
        outputs=["result=-"],
    ),
)
first >> whole_2
all_ = KubernetesPodOperator(
    task_id="all",
    **process(
        [
            "sh",
            "-c",
            'echo "$1$2$3"',
            "sh",
            '{{ gathered(ti, "counted", "result", "counted-items") | replace("$", "$$") }}',
            '{{ gathered(ti, "down", "result", "down-items") | replace("$", "$$") }}',
            '{{ gathered(ti, "none", "result", "none-items") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[counted_lists, down_lists, none_lists] >> all_
