LEAVES = ["c", "unmet"]


def when_a(ti: Any, params: Any) -> bool:
    return params["on"] in (True, "true")


def when_b(ti: Any, params: Any) -> bool:
    return params["on"] in (True, "true")


with DAG(
    dag_id="skip-below-skip",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"on": Param(False, type=["boolean", "string"], pattern="^(true|false)$")},
    user_defined_macros={"PROCESS": PROCESS, "output": output, "first_of": first_of},
): ...
a = KubernetesPodOperator(
    task_id="a",
    **process(["sh", "-c", "echo a"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_a),
)
b = KubernetesPodOperator(
    task_id="b",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ output(ti, "a") | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
    pre_execute=partial(skip_unless, when_b),
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(output(ti, "b"), "nothing") | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
b >> c
unmet_needs = PythonOperator(
    task_id="unmet-needs",
    python_callable=open_gate,
    op_args=[[["failure", "a", ["a"]]]],
    trigger_rule="all_done",
)
unmet = KubernetesPodOperator(
    task_id="unmet",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_within("unmet-needs"),
)
a >> unmet_needs
unmet_needs >> unmet
run_status = PythonOperator(
    task_id="run-status",
    python_callable=check_end,
    op_args=[LEAVES],
    trigger_rule="all_done",
)
[c, unmet] >> run_status
