with DAG(
    dag_id="secret-variables",
    user_defined_macros={"PROCESS": PROCESS},
): ...
shows = KubernetesPodOperator(
    task_id="shows",
    image="busybox:1.36",
    **process(
        ["sh", "-c", 'test "$PASSWORD" = "p a\\$\\$\'ss" && echo "right ${OTHER-unset}" '],
        outputs=["result=-"],
    ),
    secrets=[Secret("env", "PASSWORD", "db", "password")],
    pod_template_dict={
        "spec": {
            "containers": [
                {
                    "name": "base",
                    "env": [
                        {
                            "name": "OTHER",
                            "valueFrom": {
                                "secretKeyRef": {
                                    "name": "db",
                                    "key": "other",
                                    "optional": True,
                                },
                            },
                        },
                    ],
                },
            ],
        },
    },
)
