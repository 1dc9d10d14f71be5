def when_large(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("size")["result"], ">", 10)


def when_small(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("size")["result"], "<=", 10)


def when_met(ti: Any, params: Any) -> bool:
    return compare(decode(first_of(output(ti, "large"), output(ti, "small"))), "==", [1])


def when_inside_large(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("size")["result"], ">", 10)


def when_inside_small(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("size")["result"], "<=", 10)


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"it": typed(first_of(output(ti, "large"), output(ti, "small")), "json")}


with DAG(
    dag_id="first-of-run-and-skipped",
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
        "output": output,
        "first_of": first_of,
        "plain": plain,
        "part_of": part_of,
        "joined": joined,
    },
): ...
size = KubernetesPodOperator(
    task_id="size",
    **process(["sh", "-c", "echo 20"], outputs=["result=-"]),
)
large = KubernetesPodOperator(
    task_id="large",
    **process(["sh", "-c", "echo '[1]'"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_large),
)
size >> large
small = KubernetesPodOperator(
    task_id="small",
    **process(["sh", "-c", "echo '[2]'"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_small),
)
size >> small
one = KubernetesPodOperator(
    task_id="one",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ plain(first_of(output(ti, "large"), output(ti, "small"))) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[large, small] >> one
other = KubernetesPodOperator(
    task_id="other",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ plain(first_of(output(ti, "small"), output(ti, "large"))) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[small, large] >> other
inner = KubernetesPodOperator(
    task_id="inner",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ plain((part_of(plain(output(ti, "large")), 0) if part_of(plain(output(ti, "large")), 0) is not none else part_of(plain(output(ti, "small")), 0))) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[large, small] >> inner
words = KubernetesPodOperator(
    task_id="words",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ (joined("l ", plain(output(ti, "large"))) if joined("l ", plain(output(ti, "large"))) is not none else joined("s ", plain(output(ti, "small")))) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[large, small] >> words
default = KubernetesPodOperator(
    task_id="default",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ plain(first_of(output(ti, "small"), first_of(output(ti, "large"), output(ti, "small")))) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
[small, large] >> default
met = KubernetesPodOperator(
    task_id="met",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_met),
)
[large, small] >> met
with TaskGroup("inside") as inside:
    inside_large = KubernetesPodOperator(
        task_id="large",
        **process(["sh", "-c", "echo l"], outputs=["result=-"]),
        pre_execute=partial(skip_unless, when_inside_large),
    )
    inside_small = KubernetesPodOperator(
        task_id="small",
        **process(["sh", "-c", "echo s"], outputs=["result=-"]),
        pre_execute=partial(skip_unless, when_inside_small),
    )
size >> inside
after = KubernetesPodOperator(
    task_id="after",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ first_of(output(ti, "inside.large"), output(ti, "inside.small")) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
inside >> after
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
[one, other, inner, words, default, met, after] >> run_outputs
