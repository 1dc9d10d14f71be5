LEAVES = ["sum"]


def when_skipped(ti: Any, params: Any) -> bool:
    return params["on"] in (True, "true")


with DAG(
    dag_id="output-defaults",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"on": Param(False, type=["boolean", "string"], pattern="^(true|false)$")},
    user_defined_macros={
        "PROCESS": PROCESS,
        "output": output,
        "first_of": first_of,
        "plain": plain,
        "are_open": are_open,
    },
) as dag: ...
writes = KubernetesPodOperator(
    task_id="writes",
    **process(["sh", "-c", 'echo 5 > "$COULER_WORK/n"'], outputs=["result=-", "n?=n"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
forgets = KubernetesPodOperator(
    task_id="forgets",
    **process(["sh", "-c", "true"], outputs=["result=-", "n?=n", "any?=any"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
skipped = KubernetesPodOperator(
    task_id="skipped",
    **process(["sh", "-c", "true"], outputs=["result=-", "n?=n"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
    pre_execute=partial(skip_unless, when_skipped),
)
fails = KubernetesPodOperator(
    task_id="fails",
    **process(["sh", "-c", 'echo 7 > "$COULER_WORK/n"; exit 1'], outputs=["result=-", "n?=n"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
sum__needs = PythonOperator(
    task_id="sum-needs",
    python_callable=open_gate,
    op_args=[[["completion", "fails", ["fails"]]]],
    trigger_rule="all_done",
)
sum_ = KubernetesPodOperator(
    task_id="sum",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2 $3 $4 $5"',
            "sh",
            '{{ first_of(output(ti, "writes", "n"), "0") }}',
            '{{ first_of(output(ti, "forgets", "n"), "0") }}',
            '{{ first_of(output(ti, "skipped", "n"), "-1") }}',
            '{{ first_of(output(ti, "fails", "n"), "-2") }}',
            '{{ (plain(first_of(output(ti, "forgets", "any"), \'"none"\')) if are_open(ti, "sum-needs") else "") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("sum-needs"),
)
fails >> sum__needs
[writes, forgets, skipped, sum__needs] >> sum_
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
sum_ >> run_status
wait_for_all(dag)
