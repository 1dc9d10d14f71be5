LEAVES = ["attempts"]

with DAG(
    dag_id="retry-exit-codes",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"shared": Param(type="string")},
    user_defined_macros={"PROCESS": PROCESS},
) as dag: ...
stops_at_72 = KubernetesPodOperator(
    task_id="stops-at-72",
    **process(
        [
            "sh",
            "-c",
            'echo x >> "$$1/$$2"; exit $$((70 + $$(wc -l < "$$1/$$2")))',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
            "a",
        ],
        outputs=["result=-"],
    ),
    retries=5,
    retry_delay=timedelta(seconds=0),
    retry_policy=retry_if(exit_codes=[71]),
)
runs_out = KubernetesPodOperator(
    task_id="runs-out",
    **process(
        [
            "sh",
            "-c",
            'echo x >> "$$1/$$2"; exit $$((70 + $$(wc -l < "$$1/$$2")))',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
            "b",
        ],
        outputs=["result=-"],
    ),
    retries=2,
    retry_delay=timedelta(seconds=0),
    retry_policy=retry_if(exit_codes=[71, 72, 73, 74]),
)
attempts_needs = PythonOperator(
    task_id="attempts-needs",
    python_callable=open_gate,
    op_args=[
        [["failure", "stops-at-72", ["stops-at-72"]]],
        [["failure", "runs-out", ["runs-out"]]],
    ],
    trigger_rule="all_done",
)
attempts = KubernetesPodOperator(
    task_id="attempts",
    **process(
        [
            "sh",
            "-c",
            'echo $$(wc -l < "$$1/a") $$(wc -l < "$$1/b")',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("attempts-needs"),
)
[stops_at_72, runs_out] >> attempts_needs
attempts_needs >> attempts
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
attempts >> run_status
wait_for_all(dag)
