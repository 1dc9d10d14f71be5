def refine_again(ti: Any, params: Any) -> bool:
    return output_near(ti, "refine.round_#-1.end", "verdict") == "more"


def refine_round_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {
        "n": output_near(ti, "refine.round_#.step"),
        "verdict": output_near(ti, "refine.round_#.check"),
    }


with DAG(
    dag_id="loop-group",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"first_of": first_of, "output_near": output_near, "PROCESS": PROCESS},
): ...
with TaskGroup("refine") as refine:
    rounds = []
    for number in range(20):
        with TaskGroup(f"round_{number}") as refine_round:
            refine_round_when = PythonOperator(
                task_id="when",
                python_callable=passed,
                trigger_rule="all_success",
                pre_execute=partial(skip_unless, refine_again) if number else None,
            )
            step = KubernetesPodOperator(
                task_id="step",
                **process(
                    [
                        "sh",
                        "-c",
                        "echo $$(($$1 * 2))",
                        "sh",
                        '{{ first_of(output_near(ti, "refine.round_#-1.end", "n"), "3") }}',
                    ],
                    outputs=["result=-"],
                ),
                trigger_rule="none_failed_min_one_success",
            )
            refine_round_when >> step
            check = KubernetesPodOperator(
                task_id="check",
                **process(
                    [
                        "sh",
                        "-c",
                        "test $1 -lt 20 && echo more || echo enough",
                        "sh",
                        '{{ output_near(ti, "refine.round_#.step") }}',
                    ],
                    outputs=["result=-"],
                ),
                trigger_rule="none_failed_min_one_success",
            )
            [step, refine_round_when] >> check
            refine_round_end = PythonOperator(
                task_id="end",
                python_callable=refine_round_outputs,
                trigger_rule="none_failed_min_one_success",
            )
            [check, refine_round_when] >> refine_round_end
        before(rounds) >> refine_round
        rounds.append(refine_round)
    bound_20 = PythonOperator(
        task_id="bound_20",
        python_callable=reached_bound,
        op_args=[20],
        trigger_rule="all_success",
        pre_execute=partial(skip_unless, refine_again),
    )
    before(rounds) >> bound_20
end = KubernetesPodOperator(
    task_id="end",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output_near(ti, "refine.round_*.end", "n") }}'],
        outputs=["result=-"],
    ),
)
refine >> end
