PLAIN_2_ITEMS = [{"item": one} for one in range(0, 3)]
DOWN_ITEMS = [{"item": f"n{one:03d}-"} for one in range(1, -2, -1)]
ROW_ITEMS = [{"letter": "a", "number": 8}, {"letter": "b", "number": 9}]
OUTER_ITEMS = [{"item": one} for one in range(1, 3)]
CELL_ITEMS = [{"item": one} for one in range(0, 2)]


def outer_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"cells": gathered(ti, "outer.item.cell.item_*", "result", 2)}


with DAG(
    dag_id="foreach-range",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "PLAIN_2_ITEMS": PLAIN_2_ITEMS,
        "PROCESS": PROCESS,
        "DOWN_ITEMS": DOWN_ITEMS,
        "ROW_ITEMS": ROW_ITEMS,
        "OUTER_ITEMS": OUTER_ITEMS,
        "own_number": own_number,
        "CELL_ITEMS": CELL_ITEMS,
        "gathered": gathered,
    },
): ...
# What is expanded is a label; each task reads its item by its map index.
plain_2 = KubernetesPodOperator.partial(
    task_id="plain",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ PLAIN_2_ITEMS[ti.map_index]["item"] }}'],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(PLAIN_2_ITEMS))])
plain_2_lists = PythonOperator(
    task_id="plain-lists",
    python_callable=check_lists,
    op_args=["plain", 3, {"result": "str"}],
)
plain_2 >> plain_2_lists
# What is expanded is a label; each task reads its item by its map index.
down = KubernetesPodOperator.partial(
    task_id="down",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ DOWN_ITEMS[ti.map_index]["item"] }}'],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(DOWN_ITEMS))])
down_lists = PythonOperator(
    task_id="down-lists",
    python_callable=check_lists,
    op_args=["down", 3, {"result": "str"}],
)
down >> down_lists
with TaskGroup("none") as none:
    none_items = PythonOperator(
        task_id="items",
        python_callable=make_rows,
        op_kwargs={"lists": {"item": "[]"}},
    )
none_lists = PythonOperator(
    task_id="none-lists",
    python_callable=check_lists,
    op_args=["none.item_*", "none.items", {"result": "str"}],
)
none >> none_lists
# What is expanded is a label; each task reads its item by its map index.
row = KubernetesPodOperator.partial(
    task_id="row",
    **process(
        [
            "sh",
            "-c",
            'echo "$1$2"',
            "sh",
            '{{ ROW_ITEMS[ti.map_index]["letter"] }}',
            '{{ ROW_ITEMS[ti.map_index]["number"] }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(ROW_ITEMS))])
row_lists = PythonOperator(
    task_id="row-lists",
    python_callable=check_lists,
    op_args=["row", 2, {"result": "str"}],
)
row >> row_lists
with TaskGroup("outer") as outer:

    @task_group(group_id="item")
    def outer_item(number: int) -> None:
        with TaskGroup("cell") as cell:
            for number_2 in range(2):
                KubernetesPodOperator(
                    task_id=f"item_{number_2}",
                    **process(
                        [
                            "sh",
                            "-c",
                            'echo "$1$2"',
                            "sh",
                            '{{ OUTER_ITEMS[ti.map_index]["item"] }}',
                            '{{ CELL_ITEMS[own_number(ti, "outer.item.cell.item_#")]["item"] }}',
                        ],
                        outputs=["result=-"],
                    ),
                )
        cell_lists = PythonOperator(
            task_id="cell-lists",
            python_callable=check_lists,
            op_args=["outer.item.cell.item_*", 2, {"result": "str"}],
        )
        cell >> cell_lists
        outer_end = PythonOperator(task_id="end", python_callable=outer_outputs)
        cell_lists >> outer_end

    outer_item.expand(number=[*range(2)])
outer_lists = PythonOperator(
    task_id="outer-lists",
    python_callable=check_lists,
    op_args=["outer.item.end", 2, {"cells": "list"}],
)
outer >> outer_lists
all_ = KubernetesPodOperator(
    task_id="all",
    **process(
        [
            "sh",
            "-c",
            'echo "$1$2$3"',
            "sh",
            '{{ gathered(ti, "plain", "result", 3) | replace("$", "$$") }}',
            '{{ gathered(ti, "down", "result", 3) | replace("$", "$$") }}',
            '{{ gathered(ti, "none.item_*", "result", "none.items") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[plain_2_lists, down_lists, none_lists] >> all_
