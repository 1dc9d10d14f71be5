LEAVES = ["handle"]

with DAG(
    dag_id="missing-key",
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
        "part_of": part_of,
        "plain": plain,
        "output": output,
        "first_of": first_of,
    },
) as dag: ...
make = KubernetesPodOperator(
    task_id="make",
    **process(["sh", "-c", "echo '{\"a\": 1}'"], outputs=["result=-"]),
)
reads = KubernetesPodOperator(
    task_id="reads",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ plain(part_of(ti.xcom_pull("make")["result"], "b")) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
make >> reads
defaults = KubernetesPodOperator(
    task_id="defaults",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(plain(part_of(output(ti, "make"), "b")), "none") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
make >> defaults
handle_needs = PythonOperator(
    task_id="handle-needs",
    python_callable=open_gate,
    op_args=[[["failure", "reads", ["reads"]]], [["failure", "defaults", ["defaults"]]]],
    trigger_rule="all_done",
)
handle = KubernetesPodOperator(
    task_id="handle",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("handle-needs"),
)
[reads, defaults] >> handle_needs
handle_needs >> handle
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
handle >> run_status
wait_for_all(dag)
