COUNT_ITEMS = [{"item": 1}, {"item": 2}]


def count_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "count.item.round_#-1"), "int") < 3


def count_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"result": output_near(ti, "count.item.round_*", "result")}


with DAG(
    dag_id="loop-with-foreach",
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
        "first_of": first_of,
        "output_near": output_near,
        "COUNT_ITEMS": COUNT_ITEMS,
        "PROCESS": PROCESS,
        "gathered": gathered,
    },
): ...
with TaskGroup("count") as count:

    @task_group(group_id="item")
    def count_item(number: int) -> None:
        rounds = []
        for number_2 in range(20):
            count_round = KubernetesPodOperator(
                task_id=f"round_{number_2}",
                **process(
                    [
                        "sh",
                        "-c",
                        "echo $$(($$1 + $$2))",
                        "sh",
                        '{{ first_of(output_near(ti, "count.item.round_#-1"), encode(COUNT_ITEMS[ti.map_index]["item"])) }}',
                        '{{ COUNT_ITEMS[ti.map_index]["item"] }}',
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
        count_end = PythonOperator(task_id="end", python_callable=count_outputs)
        [*rounds, bound_20] >> count_end

    count_item.expand(number=[*range(2)])
count_lists = PythonOperator(
    task_id="count-lists",
    python_callable=check_lists,
    op_args=["count.item.end", 2, {"result": "int"}],
)
count >> count_lists
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ gathered(ti, "count.item.end", "result", 2, kind="int") }}',
        ],
        outputs=["result=-"],
    ),
)
count_lists >> end
