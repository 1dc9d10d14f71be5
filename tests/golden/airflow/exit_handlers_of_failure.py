LEAVES = ["never"]


def when_exit_good(ti: Any, params: Any) -> bool:
    return not run_failed(ti, LEAVES)


def when_exit_bad(ti: Any, params: Any) -> bool:
    return run_failed(ti, LEAVES)


def when_exit_bad_off(ti: Any, params: Any) -> bool:
    return first_of(output(ti, "first"), "-") != "1"


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"first": ti.xcom_pull("first")["result"]}


with DAG(
    dag_id="exit-handlers-of-failure",
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
) as dag: ...
first = KubernetesPodOperator(
    task_id="first",
    **process(["sh", "-c", "echo 1"], outputs=["result=-"]),
)
work = KubernetesPodOperator(
    task_id="work",
    **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
)
first >> work
never = KubernetesPodOperator(
    task_id="never",
    **process(["sh", "-c", "echo 3"], outputs=["result=-"]),
)
work >> never
with TaskGroup("exit-good") as exit_good:
    exit_good_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
        pre_execute=partial(skip_unless, when_exit_good),
    )
    say = KubernetesPodOperator(
        task_id="say",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        trigger_rule="none_failed_min_one_success",
    )
    exit_good_when >> say
never >> exit_good
with TaskGroup("exit-bad") as exit_bad:
    exit_bad_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
        pre_execute=partial(skip_unless, when_exit_bad),
    )
    exit_bad_say = KubernetesPodOperator(
        task_id="say",
        **process(
            [
                "sh",
                "-c",
                'echo "$1: $2 $3 $4"',
                "sh",
                '{{ ("failed" if run_failed(ti, LEAVES) else "succeeded") }}',
                '{{ first_of(output(ti, "first"), "-") | replace("$", "$$") }}',
                '{{ first_of(output(ti, "work"), "-") | replace("$", "$$") }}',
                '{{ first_of(output(ti, "never"), "-") | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        trigger_rule="none_failed_min_one_success",
    )
    exit_bad_when >> exit_bad_say
    off = KubernetesPodOperator(
        task_id="off",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        trigger_rule="none_failed_min_one_success",
        pre_execute=partial(skip_unless, when_exit_bad_off),
    )
    exit_bad_when >> off
never >> exit_bad
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[[*LEAVES, "exit-good.say", "exit-bad.say", "exit-bad.off"]],
    trigger_rule="all_done",
)
[never, exit_good, exit_bad] >> run_status
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
run_status >> run_outputs
wait_for_all(dag)
