def again_again(ti: Any, params: Any) -> bool:
    return output_near(ti, "again.round_#-1") == "yes"


def in_time_again(ti: Any, params: Any) -> bool:
    return decode(output_near(ti, "in-time.round_#-1"), "int") < 3


with DAG(
    dag_id="loop-reaches-bound",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "first_of": first_of, "output_near": output_near},
): ...
with TaskGroup("again") as again:
    rounds = []
    for number in range(3):
        again_round = KubernetesPodOperator(
            task_id=f"round_{number}",
            **process(["sh", "-c", "echo yes"], outputs=["result=-"]),
            trigger_rule="all_success",
            pre_execute=partial(skip_unless, again_again) if number else None,
        )
        before(rounds) >> again_round
        rounds.append(again_round)
    bound_3 = PythonOperator(
        task_id="bound_3",
        python_callable=reached_bound,
        op_args=[3],
        trigger_rule="all_success",
        pre_execute=partial(skip_unless, again_again),
    )
    before(rounds) >> bound_3
with TaskGroup("in-time") as in_time:
    in_time_rounds = []
    for number_2 in range(3):
        in_time_round = KubernetesPodOperator(
            task_id=f"round_{number_2}",
            **process(
                [
                    "sh",
                    "-c",
                    "echo $$(($$1 + 1))",
                    "sh",
                    '{{ first_of(output_near(ti, "in-time.round_#-1"), "0") }}',
                ],
                outputs=["result=-"],
            ),
            trigger_rule="all_success",
            pre_execute=partial(skip_unless, in_time_again) if number_2 else None,
        )
        before(in_time_rounds) >> in_time_round
        in_time_rounds.append(in_time_round)
    in_time_bound = PythonOperator(
        task_id="bound_3",
        python_callable=reached_bound,
        op_args=[3],
        trigger_rule="all_success",
        pre_execute=partial(skip_unless, in_time_again),
    )
    before(in_time_rounds) >> in_time_bound
after = KubernetesPodOperator(
    task_id="after",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ output_near(ti, "again.round_*") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
again >> after
