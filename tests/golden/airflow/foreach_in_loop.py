def grow_again(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(output_near(ti, "grow.round_#-1.end", "items"), 0)), "<", 4)


def grow_round_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "items": gathered(ti, "grow.round_#.each", "result", "grow.round_#.each-items", kind="int"),
    }


with DAG(
    dag_id="foreach-in-loop",
    user_defined_macros={
        "first_of": first_of,
        "output_near": output_near,
        "to_text": to_text,
        "pull": pull,
        "PROCESS": PROCESS,
    },
): ...
with TaskGroup("grow") as grow:
    rounds = []
    for number in range(20):
        with TaskGroup(f"round_{number}") as grow_round:
            grow_round_when = PythonOperator(
                task_id="when",
                python_callable=passed,
                trigger_rule="all_success",
                pre_execute=partial(skip_unless, grow_again) if number else None,
            )
            each_items = PythonOperator(
                task_id="each-items",
                python_callable=make_rows,
                op_kwargs={
                    "lists": {
                        "item": '{{ first_of(output_near(ti, "grow.round_#-1.end", "items"), "[1,3]") }}',
                    },
                },
                trigger_rule="none_failed_min_one_success",
            )
            # What is expanded is a label; each task reads its item by its map index.
            each = KubernetesPodOperator.partial(
                task_id="each",
                image="busybox:1.36",
                **process(
                    [
                        "sh",
                        "-c",
                        "echo $$(($$1 * 2))",
                        "sh",
                        '{{ to_text(pull(ti, "grow.round_#.each-items", "rows")[ti.map_index]["item"]) | replace("$", "$$") }}',
                    ],
                    outputs=["result=-"],
                ),
            ).expand(labels=each_items.output)
            each_lists = PythonOperator(
                task_id="each-lists",
                python_callable=check_lists,
                op_args=["grow.round_#.each", "grow.round_#.each-items", {"result": "int"}],
            )
            each >> each_lists
            grow_round_when >> each_items
            grow_round_end = PythonOperator(
                task_id="end",
                python_callable=grow_round_outputs,
                trigger_rule="none_failed_min_one_success",
            )
            [each_lists, grow_round_when] >> grow_round_end
        before(rounds) >> grow_round
        rounds.append(grow_round)
    bound_20 = PythonOperator(
        task_id="bound_20",
        python_callable=reached_bound,
        op_args=[20],
        trigger_rule="all_success",
        pre_execute=partial(skip_unless, grow_again),
    )
    before(rounds) >> bound_20
