with DAG(
    dag_id="standard-output",
    user_defined_macros={"PROCESS": PROCESS, "output": output},
): ...
none = KubernetesPodOperator(
    task_id="none",
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
two = KubernetesPodOperator(
    task_id="two",
    image="busybox:1.36",
    **process(["sh", "-c", "printf 'a\\n\\n'"], outputs=["result=-"]),
)
blanks = KubernetesPodOperator(
    task_id="blanks",
    image="busybox:1.36",
    **process(["sh", "-c", "printf ' a '"], outputs=["result=-"]),
)
errors = KubernetesPodOperator(
    task_id="errors",
    image="busybox:1.36",
    **process(["sh", "-c", "echo out; echo err >&2"], outputs=["result=-"]),
)
end = KubernetesPodOperator(
    task_id="end",
    image="busybox:1.36",
    **process(
        [
            "sh",
            "-c",
            'printf "<%s>" "$@"',
            "sh",
            '{{ output(ti, "none") | replace("$", "$$") }}',
            '{{ output(ti, "two") | replace("$", "$$") }}',
            '{{ output(ti, "blanks") | replace("$", "$$") }}',
            '{{ output(ti, "errors") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[none, two, blanks, errors] >> end
