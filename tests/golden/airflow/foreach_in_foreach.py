ROW_ITEMS = [{"item": "a"}, {"item": "b"}]
CELL_ITEMS = [{"item": 1}, {"item": 2}]


def row_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"cells": gathered(ti, "row.item.cell.item_*", "result", 2)}


with DAG(
    dag_id="foreach-in-foreach",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "ROW_ITEMS": ROW_ITEMS,
        "own_number": own_number,
        "CELL_ITEMS": CELL_ITEMS,
        "PROCESS": PROCESS,
        "gathered": gathered,
    },
): ...
with TaskGroup("row") as row:

    @task_group(group_id="item")
    def row_item(number: int) -> None:
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
                            '{{ ROW_ITEMS[ti.map_index]["item"] }}',
                            '{{ CELL_ITEMS[own_number(ti, "row.item.cell.item_#")]["item"] }}',
                        ],
                        outputs=["result=-"],
                    ),
                )
        cell_lists = PythonOperator(
            task_id="cell-lists",
            python_callable=check_lists,
            op_args=["row.item.cell.item_*", 2, {"result": "str"}],
        )
        cell >> cell_lists
        row_end = PythonOperator(task_id="end", python_callable=row_outputs)
        cell_lists >> row_end

    row_item.expand(number=[*range(2)])
row_lists = PythonOperator(
    task_id="row-lists",
    python_callable=check_lists,
    op_args=["row.item.end", 2, {"cells": "list"}],
)
row >> row_lists
table = KubernetesPodOperator(
    task_id="table",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ gathered(ti, "row.item.end", "cells", 2, kind="list") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
row_lists >> table
