def when_b(ti: Any, params: Any) -> bool:
    return compare(ti.xcom_pull("a")["result"], ">", 3)


with DAG(
    dag_id="condition-is-no-number",
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
a = KubernetesPodOperator(
    task_id="a",
    **process(["sh", "-c", "echo many"], outputs=["result=-"]),
)
b = KubernetesPodOperator(
    task_id="b",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=partial(skip_unless, when_b),
)
a >> b
c = KubernetesPodOperator(task_id="c", **process(["sh", "-c", "true"], outputs=["result=-"]))
b >> c
