with DAG(
    dag_id="suspend-for-seconds",
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
a = KubernetesPodOperator(task_id="a", **process(["sh", "-c", "true"], outputs=["result=-"]))
pause = PythonOperator(
    task_id="pause",
    python_callable=wait,
    op_args=[0.1],
    doc_md="cooling down",
)
a >> pause
b = KubernetesPodOperator(
    task_id="b",
    **process(["sh", "-c", "echo rested"], outputs=["result=-"]),
)
pause >> b
