with DAG(
    dag_id="suspend-for-seconds",
    user_defined_macros={"PROCESS": PROCESS},
): ...
a = KubernetesPodOperator(
    task_id="a",
    image="busybox:1.36",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
pause = PythonOperator(
    task_id="pause",
    python_callable=wait,
    op_args=[0.1],
    doc_md="cooling down",
)
a >> pause
b = KubernetesPodOperator(
    task_id="b",
    image="busybox:1.36",
    **process(["sh", "-c", "echo rested"], outputs=["result=-"]),
)
pause >> b
