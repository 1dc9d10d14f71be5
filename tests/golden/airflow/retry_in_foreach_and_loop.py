WORK_ITEMS = [{"item": "a"}, {"item": "b"}]


def work_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "work.item.round_#-1"), "int") < 2


def work_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"result": output_near(ti, "work.item.round_*", "result")}


with DAG(
    dag_id="retry-in-foreach-and-loop",
    params={"shared": Param(type="string")},
    user_defined_macros={
        "WORK_ITEMS": WORK_ITEMS,
        "first_of": first_of,
        "output_near": output_near,
        "PROCESS": PROCESS,
    },
): ...
with TaskGroup("work") as work:

    @task_group(group_id="item")
    def work_item(number: int) -> None:
        rounds = []
        for number_2 in range(20):
            work_round = KubernetesPodOperator(
                task_id=f"round_{number_2}",
                image="busybox:1.36",
                **process(
                    [
                        "sh",
                        "-c",
                        'mark="$$1/$$2-$$3"; test -e "$$mark" || { touch "$$mark"; exit 1; }; echo $$(($$3 + 1))',
                        "sh",
                        '{{ params["shared"] | replace("$", "$$") }}',
                        '{{ WORK_ITEMS[ti.map_index]["item"] }}',
                        '{{ first_of(output_near(ti, "work.item.round_#-1"), "0") }}',
                    ],
                    outputs=["result=-"],
                ),
                trigger_rule="all_success",
                pre_execute=partial(skip_unless, work_again) if number_2 else None,
                retries=1,
                retry_delay=timedelta(seconds=0),
            )
            before(rounds) >> work_round
            rounds.append(work_round)
        bound_20 = PythonOperator(
            task_id="bound_20",
            python_callable=reached_bound,
            op_args=[20],
            trigger_rule="all_success",
            pre_execute=partial(skip_unless, work_again),
        )
        before(rounds) >> bound_20
        work_end = PythonOperator(task_id="end", python_callable=work_outputs)
        [*rounds, bound_20] >> work_end

    work_item.expand(number=[*range(2)])
work_lists = PythonOperator(
    task_id="work-lists",
    python_callable=check_lists,
    op_args=["work.item.end", 2, {"result": "int"}],
)
work >> work_lists
