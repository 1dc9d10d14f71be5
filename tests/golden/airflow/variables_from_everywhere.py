with DAG(
    dag_id="variables-from-everywhere",
    user_defined_macros={"PROCESS": PROCESS},
): ...
shows = KubernetesPodOperator(
    task_id="shows",
    image="busybox:1.36",
    **process(["sh", "-c", 'echo "$LEVEL $DB_user $color ${level}"'], outputs=["result=-"]),
    pod_template_dict={
        "spec": {
            "containers": [
                {
                    "name": "base",
                    "env": [
                        {
                            "name": "LEVEL",
                            "valueFrom": {
                                "configMapKeyRef": {"name": "settings", "key": "level"},
                            },
                        },
                    ],
                    "envFrom": [
                        {"prefix": "DB_", "secretRef": {"name": "db"}},
                        {"configMapRef": {"name": "settings"}},
                    ],
                },
            ],
        },
    },
)
