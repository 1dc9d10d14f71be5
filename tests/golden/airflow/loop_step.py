def count_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "count.round_#-1"), "int") < 3


with DAG(
    dag_id="loop-step",
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
with TaskGroup("count") as count:
    rounds = []
    for number in range(20):
        count_round = KubernetesPodOperator(
            task_id=f"round_{number}",
            **process(
                [
                    "sh",
                    "-c",
                    "echo $$(($$1 + 1))",
                    "sh",
                    '{{ first_of(output_near(ti, "count.round_#-1"), "0") }}',
                ],
                outputs=["result=-"],
            ),
            trigger_rule="all_success",
            pre_execute=partial(skip_unless, count_again) if number else None,
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
after = KubernetesPodOperator(
    task_id="after",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output_near(ti, "count.round_*") }}'],
        outputs=["result=-"],
    ),
)
count >> after
