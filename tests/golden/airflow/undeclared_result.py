def loop_again(ti: Any, params: Any) -> bool:
    return compare(output_near(ti, "loop.round_#-1"), "<", 2)


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"loop": typed(output_near(ti, "loop.round_*"), "int")}


with DAG(
    dag_id="undeclared-result",
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
read = KubernetesPodOperator(
    task_id="read",
    **process(["sh", "-c", "echo one"], outputs=["result=-"]),
)
unread = KubernetesPodOperator(
    task_id="unread",
    image="python:3.12-slim",
    cmds=["python", "-c", "print('x' * 200_000)"],
)
reader = KubernetesPodOperator(
    task_id="reader",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("read")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
read >> reader
with TaskGroup("loop") as loop:
    rounds = []
    for number in range(20):
        loop_round = KubernetesPodOperator(
            task_id=f"round_{number}",
            **process(
                [
                    "sh",
                    "-c",
                    "echo $$(($$1 + 1))",
                    "sh",
                    '{{ first_of(output_near(ti, "loop.round_#-1"), "0") | replace("$", "$$") }}',
                ],
                outputs=["result=-"],
            ),
            trigger_rule="all_success",
            pre_execute=partial(skip_unless, loop_again) if number else None,
        )
        before(rounds) >> loop_round
        rounds.append(loop_round)
    bound_20 = PythonOperator(
        task_id="bound_20",
        python_callable=reached_bound,
        op_args=[20],
        trigger_rule="all_success",
        pre_execute=partial(skip_unless, loop_again),
    )
    before(rounds) >> bound_20
with TaskGroup("work") as work:
    inside = KubernetesPodOperator(
        task_id="inside",
        **process(["sh", "-c", "echo in"], outputs=["result=-"]),
    )
unread >> work
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
[reader, loop, work] >> run_outputs
