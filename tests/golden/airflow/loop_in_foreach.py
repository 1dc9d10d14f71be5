EACH_ITEMS = [{"item": 2}, {"item": 3}, {"item": 4}]


def count_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "each.item.count.round_#-1"), "int") < 4


def each_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"end": output_near(ti, "each.item.count.round_*")}


with DAG(
    dag_id="loop-in-foreach",
    user_defined_macros={
        "first_of": first_of,
        "output_near": output_near,
        "EACH_ITEMS": EACH_ITEMS,
        "PROCESS": PROCESS,
    },
): ...
with TaskGroup("each") as each:

    @task_group(group_id="item")
    def each_item(number: int) -> None:
        with TaskGroup("count") as count:
            rounds = []
            for number_2 in range(20):
                count_round = KubernetesPodOperator(
                    task_id=f"round_{number_2}",
                    image="busybox:1.36",
                    **process(
                        [
                            "sh",
                            "-c",
                            "echo $$(($$1 + $$2))",
                            "sh",
                            '{{ first_of(output_near(ti, "each.item.count.round_#-1"), "0") }}',
                            '{{ EACH_ITEMS[ti.map_index]["item"] }}',
                        ],
                        outputs=["result=-"],
                    ),
                    trigger_rule="all_success",
                    pre_execute=partial(skip_unless, count_again) if number_2 else None,
                )
                before(rounds) >> count_round
                rounds.append(count_round)
            bound_20 = PythonOperator(
                task_id="bound_20",
                python_callable=reached_bound,
                op_args=[20],
                trigger_rule="all_success",
                pre_execute=partial(skip_unless, count_again),
            )
            before(rounds) >> bound_20
        each_end = PythonOperator(task_id="end", python_callable=each_outputs)
        count >> each_end

    each_item.expand(number=[*range(3)])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each.item.end", 3, {"end": "int"}],
)
each >> each_lists
