with DAG(
    dag_id="standard-output",
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
none = KubernetesPodOperator(
    task_id="none",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
two = KubernetesPodOperator(
    task_id="two",
    **process(["sh", "-c", "printf 'a\\n\\n'"], outputs=["result=-"]),
)
blanks = KubernetesPodOperator(
    task_id="blanks",
    **process(["sh", "-c", "printf ' a '"], outputs=["result=-"]),
)
errors = KubernetesPodOperator(
    task_id="errors",
    **process(["sh", "-c", "echo out; echo err >&2"], outputs=["result=-"]),
)
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'printf "<%s>" "$@"',
            "sh",
            '{{ ti.xcom_pull("none")["result"] | replace("$", "$$") }}',
            '{{ ti.xcom_pull("two")["result"] | replace("$", "$$") }}',
            '{{ ti.xcom_pull("blanks")["result"] | replace("$", "$$") }}',
            '{{ ti.xcom_pull("errors")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[none, two, blanks, errors] >> end
