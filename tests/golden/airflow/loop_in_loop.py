def outer_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "outer.round_#-1.end", "n"), "int") < 3


def inner_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "outer.round_#.inner.round_#-1"), "int") < 2


def outer_round_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"n": output_near(ti, "outer.round_#.inner.round_*")}


with DAG(
    dag_id="loop-in-loop",
    user_defined_macros={"first_of": first_of, "output_near": output_near, "PROCESS": PROCESS},
): ...
with TaskGroup("outer") as outer:
    rounds = []
    for number in range(20):
        with TaskGroup(f"round_{number}") as outer_round:
            outer_round_when = PythonOperator(
                task_id="when",
                python_callable=passed,
                trigger_rule="all_success",
                pre_execute=partial(skip_unless, outer_again) if number else None,
            )
            with TaskGroup("inner") as inner:
                inner_when = PythonOperator(
                    task_id="when",
                    python_callable=passed,
                    trigger_rule="none_failed_min_one_success",
                )
                inner_rounds = [inner_when]
                for number_2 in range(20):
                    inner_round = KubernetesPodOperator(
                        task_id=f"round_{number_2}",
                        image="busybox:1.36",
                        **process(
                            [
                                "sh",
                                "-c",
                                "echo $$(($$1 + 1))",
                                "sh",
                                '{{ first_of(output_near(ti, "outer.round_#.inner.round_#-1"), first_of(output_near(ti, "outer.round_#-1.end", "n"), "0")) }}',
                            ],
                            outputs=["result=-"],
                        ),
                        trigger_rule="all_success",
                        pre_execute=partial(skip_unless, inner_again) if number_2 else None,
                    )
                    before(inner_rounds) >> inner_round
                    inner_rounds.append(inner_round)
                bound_20 = PythonOperator(
                    task_id="bound_20",
                    python_callable=reached_bound,
                    op_args=[20],
                    trigger_rule="all_success",
                    pre_execute=partial(skip_unless, inner_again),
                )
                before(inner_rounds) >> bound_20
            outer_round_when >> inner
            outer_round_end = PythonOperator(
                task_id="end",
                python_callable=outer_round_outputs,
                trigger_rule="none_failed_min_one_success",
            )
            [inner, outer_round_when] >> outer_round_end
        before(rounds) >> outer_round
        rounds.append(outer_round)
    outer_bound = PythonOperator(
        task_id="bound_20",
        python_callable=reached_bound,
        op_args=[20],
        trigger_rule="all_success",
        pre_execute=partial(skip_unless, outer_again),
    )
    before(rounds) >> outer_bound
