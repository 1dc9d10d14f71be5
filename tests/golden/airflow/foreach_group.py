EACH_ITEMS = [{"item": 1}, {"item": 2}, {"item": 3}]


def when_each_odd(ti: Any, params: Any) -> bool:
    return decode(encode(EACH_ITEMS[ti.map_index]["item"]), "int") != 2


def each_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "double": output_near(ti, "each.item.double"),
        "odd": first_of(output_near(ti, "each.item.odd"), "even"),
    }


with DAG(
    dag_id="foreach-group",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"EACH_ITEMS": EACH_ITEMS, "PROCESS": PROCESS, "gathered": gathered},
): ...
with TaskGroup("each") as each:

    @task_group(group_id="item")
    def each_item(number: int) -> None:
        double = KubernetesPodOperator(
            task_id="double",
            **process(
                [
                    "sh",
                    "-c",
                    "echo $$(($$1 * 2))",
                    "sh",
                    '{{ EACH_ITEMS[ti.map_index]["item"] }}',
                ],
                outputs=["result=-"],
            ),
        )
        odd = KubernetesPodOperator(
            task_id="odd",
            **process(
                [
                    "sh",
                    "-c",
                    'echo "$1 is odd"',
                    "sh",
                    '{{ EACH_ITEMS[ti.map_index]["item"] }}',
                ],
                outputs=["result=-"],
            ),
            pre_execute=partial(skip_unless, when_each_odd),
        )
        each_end = PythonOperator(task_id="end", python_callable=each_outputs)
        [double, odd] >> each_end

    each_item.expand(number=[*range(3)])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each.item.end", 3, {"double": "int", "odd": "str"}, {"odd": "even"}],
)
each >> each_lists
sum_ = KubernetesPodOperator(
    task_id="sum",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ gathered(ti, "each.item.end", "double", 3, kind="int") }}',
            '{{ gathered(ti, "each.item.end", "odd", 3, default="even") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
each_lists >> sum_
