LEAVES = ["after", "second"]

with DAG(
    dag_id="init-container-fails",
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
): ...
never = KubernetesPodOperator(
    task_id="never",
    **process(
        ["sh", "-c", 'touch "$1/ran"', "sh", '{{ params["shared"] | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
    pod_template_dict={
        "spec": {
            "containers": [{"name": "base"}],
            "initContainers": [
                {"name": "prepare", "image": "busybox:1.36", "command": ["sh", "-c", "exit 3"]},
            ],
        },
    },
)
after_needs = PythonOperator(
    task_id="after-needs",
    python_callable=open_gate,
    op_args=[[["failure", "never", ["never"]]]],
    trigger_rule="all_done",
)
after = KubernetesPodOperator(
    task_id="after",
    **process(
        [
            "sh",
            "-c",
            'test ! -e "$1/ran" && echo right',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    pre_execute=run_within("after-needs"),
)
never >> after_needs
after_needs >> after
second = KubernetesPodOperator(
    task_id="second",
    **process(["sh", "-c", "echo ran"], outputs=["result=-"]),
    pod_template_dict={
        "spec": {
            "containers": [{"name": "base"}],
            "initContainers": [
                {
                    "name": "prepare",
                    "image": "busybox:1.36",
                    "command": ["sh", "-c", 'mkdir "$1/first" && exit 4; exit 0'],
                    "args": ["sh", '{{ params["shared"] | replace("$", "$$") }}'],
                },
            ],
        },
    },
    retries=1,
    retry_delay=timedelta(seconds=0),
)
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[after, second] >> run_status
