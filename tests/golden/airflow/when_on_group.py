INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def when_yes(ti: Any, params: Any) -> bool:
    return int(params["n"]) >= 1


def when_yes_b(ti: Any, params: Any) -> bool:
    return output(ti, "yes.a") == "out"


def when_no(ti: Any, params: Any) -> bool:
    return int(params["n"]) < 1


with DAG(
    dag_id="when-on-group",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"n": Param(1, **INTEGER)},
    user_defined_macros={"PROCESS": PROCESS, "output": output, "first_of": first_of},
): ...
with TaskGroup("yes") as yes:
    yes_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        pre_execute=partial(skip_unless, when_yes),
    )
    a = KubernetesPodOperator(
        task_id="a",
        **process(["sh", "-c", "echo in"], outputs=["result=-"]),
        trigger_rule="none_failed_min_one_success",
    )
    yes_when >> a
    b = KubernetesPodOperator(
        task_id="b",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
        trigger_rule="none_failed_min_one_success",
        pre_execute=partial(skip_unless, when_yes_b),
    )
    [a, yes_when] >> b
with TaskGroup("no") as no:
    no_when = PythonOperator(
        task_id="when",
        python_callable=passed,
        pre_execute=partial(skip_unless, when_no),
    )
    no_a = KubernetesPodOperator(
        task_id="a",
        **process(["sh", "-c", "echo in"], outputs=["result=-"]),
        trigger_rule="none_failed_min_one_success",
    )
    no_when >> no_a
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1 $2"',
            "sh",
            '{{ first_of(output(ti, "yes.a"), "-") | replace("$", "$$") }}',
            '{{ first_of(output(ti, "no.a"), "-") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[yes, no] >> end
