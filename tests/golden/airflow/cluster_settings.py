with DAG(
    dag_id="cluster-settings",
    description="A workflow with all that pods can be told.",
    schedule=MultipleCronTriggerTimetable(
        "0 3 * * *",
        "30 4 * * 1",
        timezone="Europe/Berlin",
        run_immediately=timedelta(minutes=1),
    ),
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
    },
    tags=["project:digits"],
    doc_md="- `owner`: ml\n",
    user_defined_macros={"PROCESS": PROCESS},
): ...
train = KubernetesPodOperator(
    task_id="train",
    image="busybox:1.36",
    **process(["sh", "-c", "echo trained"], outputs=["result=-"]),
    image_pull_policy="IfNotPresent",
    container_resources=k8s.V1ResourceRequirements(
        requests={"cpu": "500m", "memory": "1Gi"},
        limits={"cpu": "1", "memory": "2Gi", "ephemeral-storage": "2Gi", "nvidia.com/gpu": "1"},
    ),
    node_selector={"zone": "a", "nvidia.com/gpu.product": "a100"},
    tolerations=[k8s.V1Toleration(key="gpu", operator="Exists", effect="NoSchedule")],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
                ],
            },
        },
    },
    priority_class_name="high",
    service_account_name="runner",
    image_pull_secrets=[k8s.V1LocalObjectReference(name="registry")],
    security_context={"runAsNonRoot": True},
    dnspolicy="None",
    labels={"team": "ml"},
    annotations={"note": "a: b"},
    pod_template_dict={
        "spec": {
            "containers": [{"name": "base"}],
            "dnsConfig": {"nameservers": ["10.0.0.2"], "searches": ["ml.local"]},
        },
    },
)
