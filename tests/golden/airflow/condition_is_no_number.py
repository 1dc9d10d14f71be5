def when_b(ti: Any, params: Any) -> bool:
    return compare(output(ti, "a"), ">", 3)


with DAG(
    dag_id="condition-is-no-number",
    user_defined_macros={"PROCESS": PROCESS},
): ...
a = KubernetesPodOperator(
    task_id="a",
    image="busybox:1.36",
    **process(["sh", "-c", "echo many"], outputs=["result=-"]),
)
b = KubernetesPodOperator(
    task_id="b",
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
    pre_execute=run_if(when_b),
)
a >> b
c = KubernetesPodOperator(
    task_id="c",
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
b >> c
