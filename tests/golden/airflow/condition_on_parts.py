def when_number_text(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(ti.xcom_pull("value")["result"], "n")), "==", "5")


def when_number_part(ti: Any, params: Any) -> bool:
    return compare(
        decode(part_of(ti.xcom_pull("value")["result"], "v")),
        "==",
        decode(part_of(ti.xcom_pull("value")["result"], "n")),
    )


def when_text_true(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(ti.xcom_pull("value")["result"], "t")), "==", True)


def when_text_text(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(ti.xcom_pull("value")["result"], "v")), "==", "5")


def when_null(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(ti.xcom_pull("value")["result"], "z")), "==", None)


def when_differs(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(ti.xcom_pull("value")["result"], "n")), "!=", "5")


def when_no_number(ti: Any, params: Any) -> bool:
    return compare(decode(part_of(ti.xcom_pull("value")["result"], "n")), "==", "five")


with DAG(
    dag_id="condition-on-parts",
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
value = KubernetesPodOperator(
    task_id="value",
    **process(
        ["sh", "-c", 'echo \'{"n": 5, "v": "5", "t": "true", "z": null}\''],
        outputs=["result=-"],
    ),
)
number_text = KubernetesPodOperator(
    task_id="number-text",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_number_text),
)
value >> number_text
number_part = KubernetesPodOperator(
    task_id="number-part",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_number_part),
)
value >> number_part
text_true = KubernetesPodOperator(
    task_id="text-true",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_text_true),
)
value >> text_true
text_text = KubernetesPodOperator(
    task_id="text-text",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_text_text),
)
value >> text_text
null = KubernetesPodOperator(
    task_id="null",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_null),
)
value >> null
differs = KubernetesPodOperator(
    task_id="differs",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_differs),
)
value >> differs
no_number = KubernetesPodOperator(
    task_id="no-number",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_no_number),
)
value >> no_number
