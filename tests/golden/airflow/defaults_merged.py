LEAVES = ["env", "work.inside", "attempts"]

with DAG(
    dag_id="defaults-merged",
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
inherits = KubernetesPodOperator(
    task_id="inherits",
    **process(
        [
            "sh",
            "-c",
            'echo x >> "$1/$2"; exit 1',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
            "a",
        ],
        outputs=["result=-"],
    ),
    env_vars={"A": "default", "B": "default"},
    retries=1,
    retry_delay=timedelta(seconds=0),
)
own = KubernetesPodOperator(
    task_id="own",
    **process(
        [
            "sh",
            "-c",
            'echo x >> "$1/$2"; exit 1',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
            "b",
        ],
        outputs=["result=-"],
    ),
    env_vars={"A": "default", "B": "default"},
    retries=2,
    retry_delay=timedelta(seconds=0),
)
env = KubernetesPodOperator(
    task_id="env",
    **process(["sh", "-c", 'echo "$A $B"'], outputs=["result=-"]),
    env_vars={"A": "default", "B": "own"},
    retries=1,
    retry_delay=timedelta(seconds=0),
)
with TaskGroup("work") as work:
    inside = KubernetesPodOperator(
        task_id="inside",
        **process(
            [
                "sh",
                "-c",
                'echo x >> "$$1/c"; test $$(wc -l < "$$1/c") -eq 2 && echo "$$A"',
                "sh",
                '{{ params["shared"] | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
        env_vars={"A": "default", "B": "default"},
        retries=1,
        retry_delay=timedelta(seconds=0),
    )
attempts_needs = PythonOperator(
    task_id="attempts-needs",
    python_callable=open_gate,
    op_args=[[["failure", "inherits", ["inherits"]]], [["failure", "own", ["own"]]]],
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
    env_vars={"A": "default", "B": "default"},
    pre_execute=run_within("attempts-needs"),
    retries=1,
    retry_delay=timedelta(seconds=0),
)
[inherits, own] >> attempts_needs
attempts_needs >> attempts
with TaskGroup("exit-end") as exit_end:
    exit_end_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        trigger_rule="all_done",
    )
    exit_end_env = KubernetesPodOperator(
        task_id="env",
        **process(["sh", "-c", 'echo "$A"'], outputs=["result=-"]),
        env_vars={"A": "default", "B": "default"},
        retries=1,
        retry_delay=timedelta(seconds=0),
    )
    exit_end_when >> exit_end_env
[env, work, attempts] >> exit_end
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[[*LEAVES, "exit-end.env"]],
    trigger_rule="all_done",
)
[env, work, attempts, exit_end] >> run_status
wait_for_all(dag)
