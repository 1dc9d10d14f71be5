def when_large(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("measure")["result"], ">", 100)


def when_small(ti: Any, params: Any) -> bool:
    return not compare(ti.xcom_pull("measure")["result"], ">", 100)


with DAG(
    dag_id="when-otherwise",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "output": output, "first_of": first_of},
): ...
measure = KubernetesPodOperator(
    task_id="measure",
    **process(["sh", "-c", "echo 42"], outputs=["result=-"]),
)
large = KubernetesPodOperator(
    task_id="large",
    **process(["sh", "-c", "echo large"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_large),
)
measure >> large
small = KubernetesPodOperator(
    task_id="small",
    **process(["sh", "-c", "echo small"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_small),
)
measure >> small
report = KubernetesPodOperator(
    task_id="report",
    **process(
        [
            "sh",
            "-c",
            'echo "it was $1"',
            "sh",
            '{{ first_of(output(ti, "large"), output(ti, "small")) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[large, small] >> report
