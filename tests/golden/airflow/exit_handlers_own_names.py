LEAVES = ["work.two"]

with DAG(
    dag_id="exit-handlers-own-names",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "PROCESS": PROCESS,
        "output": output,
        "first_of": first_of,
        "if_it_ran": if_it_ran,
    },
): ...
with TaskGroup("work") as work:
    one = KubernetesPodOperator(
        task_id="one",
        **process(["sh", "-c", "echo 1"], outputs=["result=-"]),
    )
    two = KubernetesPodOperator(
        task_id="two",
        **process(
            [
                "sh",
                "-c",
                'echo "$1 and 2"',
                "sh",
                '{{ output(ti, "work.one") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    one >> two
with TaskGroup("exit-own") as exit_own:
    exit_own_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    with TaskGroup("work") as exit_own_work:
        exit_own_work_one = KubernetesPodOperator(
            task_id="one",
            **process(["sh", "-c", "echo own"], outputs=["result=-"]),
        )
        exit_own_work_two = KubernetesPodOperator(
            task_id="two",
            **process(
                [
                    "sh",
                    "-c",
                    'echo "$1 work"',
                    "sh",
                    '{{ output(ti, "exit-own.work.one") | replace("$", "$$") }}',
                ],
                outputs=["result=-"],
            ),
        )
        exit_own_work_one >> exit_own_work_two
    exit_own_when >> exit_own_work
    say = KubernetesPodOperator(
        task_id="say",
        **process(
            [
                "sh",
                "-c",
                'echo "$1"',
                "sh",
                '{{ output(ti, "exit-own.work.two") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    exit_own_work >> say
work >> exit_own
with TaskGroup("exit-outside") as exit_outside:
    exit_outside_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    exit_outside_say = KubernetesPodOperator(
        task_id="say",
        **process(
            [
                "sh",
                "-c",
                'echo "$1"',
                "sh",
                '{{ first_of(if_it_ran(ti, ["work.when", "work.two"], output(ti, "work.two")), "nothing") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    exit_outside_when >> exit_outside_say
work >> exit_outside
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[[*LEAVES, "exit-own.say", "exit-outside.say"]],
    trigger_rule="all_done",
)
[work, exit_own, exit_outside] >> run_status
