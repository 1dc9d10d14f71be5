LEAVES = ["off"]


def when_off(ti: Any, params: Any) -> bool:
    return output(ti, "all") == "other"


with DAG(
    dag_id="completion",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output, "first_of": first_of},
) as dag: ...
good = KubernetesPodOperator(
    task_id="good",
    **process(["sh", "-c", "echo good"], outputs=["result=-"]),
)
bad = KubernetesPodOperator(
    task_id="bad",
    **process(["sh", "-c", "echo bad; exit 1"], outputs=["result=-"]),
)
skipped_needs = PythonOperator(
    task_id="skipped-needs",
    python_callable=open_gate,
    op_args=[[["failure", "good", ["good"]]]],
    trigger_rule="all_done",
)
skipped = KubernetesPodOperator(
    task_id="skipped",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("skipped-needs"),
)
good >> skipped_needs
skipped_needs >> skipped
omitted = KubernetesPodOperator(
    task_id="omitted",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
bad >> omitted
all__needs = PythonOperator(
    task_id="all-needs",
    python_callable=open_gate,
    op_args=[
        [["completion", "good", ["good"]]],
        [["completion", "bad", ["bad"]]],
        [["completion", "skipped", ["skipped"]]],
        [["completion", "omitted", ["omitted"]]],
    ],
    trigger_rule="all_done",
)
all_ = KubernetesPodOperator(
    task_id="all",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ first_of(output(ti, "good"), "-") | replace("$", "$$") }}',
            '{{ first_of(output(ti, "bad"), "-") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("all-needs"),
)
[good, bad, skipped, omitted] >> all__needs
all__needs >> all_
off = KubernetesPodOperator(
    task_id="off",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_off),
)
all_ >> off
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
off >> run_status
wait_for_all(dag)
