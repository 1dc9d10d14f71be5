LEAVES = ["work"]


def when_exit_good(ti: Any, params: Any) -> bool:
    return not run_failed(ti, LEAVES)


def when_exit_bad(ti: Any, params: Any) -> bool:
    return run_failed(ti, LEAVES)


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"work": ti.xcom_pull("work")["result"]}


with DAG(
    dag_id="exit-handlers-of-success",
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
        "run_failed": run_failed,
        "LEAVES": LEAVES,
        "output": output,
        "first_of": first_of,
    },
): ...
work = KubernetesPodOperator(
    task_id="work",
    **process(["sh", "-c", "echo done"], outputs=["result=-"]),
)
with TaskGroup("exit-good") as exit_good:
    exit_good_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
        pre_execute=partial(skip_unless, when_exit_good),
    )
    first = KubernetesPodOperator(
        task_id="first",
        **process(
            [
                "sh",
                "-c",
                'echo "$1 $2"',
                "sh",
                '{{ ("failed" if run_failed(ti, LEAVES) else "succeeded") }}',
                '{{ first_of(output(ti, "work"), "nothing") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        trigger_rule="none_failed_min_one_success",
    )
    exit_good_when >> first
    second = KubernetesPodOperator(
        task_id="second",
        **process(
            [
                "sh",
                "-c",
                'echo "$1!"',
                "sh",
                '{{ output(ti, "exit-good.first") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        trigger_rule="none_failed_min_one_success",
    )
    [first, exit_good_when] >> second
work >> exit_good
with TaskGroup("exit-bad") as exit_bad:
    exit_bad_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
        pre_execute=partial(skip_unless, when_exit_bad),
    )
    say = KubernetesPodOperator(
        task_id="say",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        trigger_rule="none_failed_min_one_success",
    )
    exit_bad_when >> say
work >> exit_bad
with TaskGroup("exit-always") as exit_always:
    exit_always_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    exit_always_say = KubernetesPodOperator(
        task_id="say",
        **process(
            [
                "sh",
                "-c",
                'echo "$1"',
                "sh",
                '{{ ("failed" if run_failed(ti, LEAVES) else "succeeded") }}',
            ],
            outputs=["result=-"],
        ),
    )
    exit_always_when >> exit_always_say
work >> exit_always
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[[*LEAVES, "exit-good.second", "exit-bad.say", "exit-always.say"]],
    trigger_rule="all_done",
)
[work, exit_good, exit_bad, exit_always] >> run_status
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
run_status >> run_outputs
