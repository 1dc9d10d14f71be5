ROW_ITEMS = [{"item": 1}, {"item": 2}]


def row_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"cells": gathered(ti, "row.item_#.cell", "result", "row.item_#.cell-items", kind="int")}


with DAG(
    dag_id="foreach-over-output-in-foreach",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "own_number": own_number,
        "ROW_ITEMS": ROW_ITEMS,
        "PROCESS": PROCESS,
        "output_near": output_near,
        "to_text": to_text,
        "pull": pull,
    },
): ...
with TaskGroup("row") as row:
    for number in range(2):
        with TaskGroup(f"item_{number}"):
            split = KubernetesPodOperator(
                task_id="split",
                **process(
                    [
                        "sh",
                        "-c",
                        'test "$1" = 1 && echo "[7]" || echo "[8, 9]"',
                        "sh",
                        '{{ ROW_ITEMS[own_number(ti, "row.item_#")]["item"] }}',
                    ],
                    outputs=["result=-"],
                ),
            )
            cell_items = PythonOperator(
                task_id="cell-items",
                python_callable=make_rows,
                op_kwargs={"lists": {"item": '{{ output_near(ti, "row.item_#.split") }}'}},
            )
            # What is expanded is a label; each task reads its item by its map index.
            cell = KubernetesPodOperator.partial(
                task_id="cell",
                **process(
                    [
                        "sh",
                        "-c",
                        "echo $$(($$1 + 1))",
                        "sh",
                        '{{ to_text(pull(ti, "row.item_#.cell-items", "rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
                    ],
                    outputs=["result=-"],
                ),
            ).expand(labels=cell_items.output)
            cell_lists = PythonOperator(
                task_id="cell-lists",
                python_callable=check_lists,
                op_args=["row.item_#.cell", "row.item_#.cell-items", {"result": "int"}],
            )
            cell >> cell_lists
            split >> cell_items
            row_end = PythonOperator(task_id="end", python_callable=row_outputs)
            cell_lists >> row_end
row_lists = PythonOperator(
    task_id="row-lists",
    python_callable=check_lists,
    op_args=["row.item_*.end", 2, {"cells": "list"}],
)
row >> row_lists
