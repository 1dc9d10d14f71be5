LEAVES = ["reads", "handles"]

with DAG(
    dag_id="group-fails",
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
) as dag: ...
with TaskGroup("work") as work:
    good = KubernetesPodOperator(
        task_id="good",
        **process(["sh", "-c", "echo good"], outputs=["result=-"]),
    )
    bad = KubernetesPodOperator(
        task_id="bad",
        **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
    )
    worse = KubernetesPodOperator(
        task_id="worse",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
    )
    bad >> worse
reads_needs = PythonOperator(
    task_id="reads-needs",
    python_callable=open_gate,
    op_args=[[["completion", "work", ["work.good", "work.worse"]]]],
    trigger_rule="all_done",
)
reads = KubernetesPodOperator(
    task_id="reads",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(if_it_ran(ti, ["work.when", "work.good", "work.worse"], output(ti, "work.good")), "nothing") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("reads-needs"),
)
work >> reads_needs
reads_needs >> reads
handles_needs = PythonOperator(
    task_id="handles-needs",
    python_callable=open_gate,
    op_args=[[["failure", "work", ["work.good", "work.worse"]]]],
    trigger_rule="all_done",
)
handles = KubernetesPodOperator(
    task_id="handles",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("handles-needs"),
)
work >> handles_needs
handles_needs >> handles
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[reads, handles] >> run_status
wait_for_all(dag)
