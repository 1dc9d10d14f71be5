with DAG(
    dag_id="sidecar-fails",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"BESIDE": BESIDE, "PROCESS": PROCESS},
): ...
broken = KubernetesPodOperator(
    task_id="broken",
    **process(
        ["sh", "-c", "until test -e /shared/done; do sleep 0.05; done; sleep 1"],
        outputs=["result=-"],
        beside=["beside"],
    ),
    pod_template_dict={
        "spec": {
            "containers": [
                {"name": "base", "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]},
                ends_with_process(
                    {
                        "name": "beside",
                        "image": "busybox:1.36",
                        "command": ["sh", "-c", "touch /shared/done; exit 5"],
                        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                    },
                ),
            ],
            "volumes": [{"name": "shared", "emptyDir": {}}],
        },
    },
)
done = KubernetesPodOperator(
    task_id="done",
    **process(
        ["sh", "-c", "until test -e /shared/done; do sleep 0.05; done"],
        outputs=["result=-"],
        beside=["beside"],
    ),
    pod_template_dict={
        "spec": {
            "containers": [
                {"name": "base", "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]},
                ends_with_process(
                    {
                        "name": "beside",
                        "image": "busybox:1.36",
                        "command": ["sh", "-c", "touch /shared/done"],
                        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                    },
                ),
            ],
            "volumes": [{"name": "shared", "emptyDir": {}}],
        },
    },
)
ended = KubernetesPodOperator(
    task_id="ended",
    **process(
        ["sh", "-c", "until test -e /shared/done; do sleep 0.05; done"],
        outputs=["result=-"],
        beside=["beside"],
    ),
    pod_template_dict={
        "spec": {
            "containers": [
                {"name": "base", "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]},
                ends_with_process(
                    {
                        "name": "beside",
                        "image": "busybox:1.36",
                        "command": [
                            "sh",
                            "-c",
                            "touch /shared/done; while true; do sleep 0.05; done",
                        ],
                        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                    },
                ),
            ],
            "volumes": [{"name": "shared", "emptyDir": {}}],
        },
    },
)
