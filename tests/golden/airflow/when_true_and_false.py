def when_heads(ti: Any, params: Any) -> bool:
    return ti.xcom_pull("toss")["result"] == "heads"


def when_tails(ti: Any, params: Any) -> bool:
    return ti.xcom_pull("toss")["result"] == "tails"


with DAG(
    dag_id="when-true-and-false",
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
toss = KubernetesPodOperator(
    task_id="toss",
    **process(["sh", "-c", "echo heads"], outputs=["result=-"]),
)
heads = KubernetesPodOperator(
    task_id="heads",
    **process(["sh", "-c", "echo won"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_heads),
)
toss >> heads
tails = KubernetesPodOperator(
    task_id="tails",
    **process(["sh", "-c", "echo lost"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_tails),
)
toss >> tails
after = KubernetesPodOperator(
    task_id="after",
    **process(["sh", "-c", "echo done"], outputs=["result=-"]),
)
[heads, tails] >> after
