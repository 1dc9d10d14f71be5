def when_heads(ti: Any, params: Any) -> bool:
    return output(ti, "toss") == "heads"


def when_tails(ti: Any, params: Any) -> bool:
    return output(ti, "toss") == "tails"


with DAG(
    dag_id="when-true-and-false",
    schedule=None,
    catchup=False,
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
    pre_execute=run_if(when_heads),
)
toss >> heads
tails = KubernetesPodOperator(
    task_id="tails",
    **process(["sh", "-c", "echo lost"], outputs=["result=-"]),
    pre_execute=run_if(when_tails),
)
toss >> tails
after = KubernetesPodOperator(
    task_id="after",
    **process(["sh", "-c", "echo done"], outputs=["result=-"]),
)
[heads, tails] >> after
