with DAG(
    dag_id="omitted-chain",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS},
): ...
root = KubernetesPodOperator(
    task_id="root",
    **process(["sh", "-c", "echo root"], outputs=["result=-"]),
)
bad = KubernetesPodOperator(
    task_id="bad",
    **process(["sh", "-c", "exit 1"], outputs=["result=-"]),
)
root >> bad
next_ = KubernetesPodOperator(
    task_id="next",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("bad")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
bad >> next_
last = KubernetesPodOperator(
    task_id="last",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
next_ >> last
other = KubernetesPodOperator(
    task_id="other",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ ti.xcom_pull("root")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
root >> other
joined_2 = KubernetesPodOperator(
    task_id="joined",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
[other, last] >> joined_2
other_end = KubernetesPodOperator(
    task_id="other-end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 end"',
            "sh",
            '{{ ti.xcom_pull("other")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
other >> other_end
