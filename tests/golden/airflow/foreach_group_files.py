EACH_ITEMS = [{"item": "a"}, {"item": "b"}, {"item": "c"}]


def each_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "f": output_near(ti, "each.item.write", "f"),
        "told": output_near(ti, "each.item.again"),
    }


with DAG(
    dag_id="foreach-group-files",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "encode": encode,
        "joined": joined,
        "EACH_ITEMS": EACH_ITEMS,
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "output_near": output_near,
        "gathered": gathered,
        "to_text": to_text,
    },
): ...
with TaskGroup("each") as each:

    @task_group(group_id="item")
    def each_item(number: int) -> None:
        write = KubernetesPodOperator(
            task_id="write",
            **process_with_files(
                [
                    "sh",
                    "-c",
                    'sleep 1; echo "$1" > "$COULER_WORK/f"',
                    "sh",
                    '{{ joined("x-", encode(EACH_ITEMS[ti.map_index]["item"])) }}',
                ],
                after=[["keep", "file", "f", "f"]],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            env_vars={"COULER_WORK": "/tmp/couler"},
        )
        again = KubernetesPodOperator(
            task_id="again",
            **process_with_files(
                ["sh", "-c", 'cat "$COULER_INPUT_f"'],
                before=[
                    [
                        "take",
                        "file",
                        "inputs/f",
                        '{{ output_near(ti, "each.item.write", "f") }}',
                    ],
                ],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
        )
        write >> again
        each_end = PythonOperator(task_id="end", python_callable=each_outputs)
        again >> each_end

    each_item.expand(number=[*range(3)])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each.item.end", 3, {"f": "file", "told": "str"}],
)
each >> each_lists
read_items = PythonOperator(
    task_id="read-items",
    python_callable=make_rows,
    op_kwargs={"lists": {"item": '{{ gathered(ti, "each.item.end", "f", 3) }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
read = KubernetesPodOperator.partial(
    task_id="read",
    **process_with_files(
        ["sh", "-c", 'cat "$COULER_INPUT_f"'],
        before=[
            [
                "take",
                "file",
                "inputs/f",
                '{{ to_text(ti.xcom_pull("read-items", key="rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
            ],
        ],
        outputs=["result=-"],
        claim=FILES_CLAIM,
    ),
    env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/inputs/f"},
).expand(labels=read_items.output)
read_lists = PythonOperator(
    task_id="read-lists",
    python_callable=check_lists,
    op_args=["read", "read-items", {"result": "str"}],
)
read >> read_lists
each_lists >> read_items
