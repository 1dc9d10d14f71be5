"""Jobs of Kubernetes, and a custom resource that a sensor waits for."""

from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook
from airflow.providers.cncf.kubernetes.operators.job import KubernetesJobOperator
from airflow.providers.cncf.kubernetes.operators.resource import (
    KubernetesCreateResourceOperator,
    KubernetesDeleteResourceOperator,
)
from airflow.sdk import DAG, task

TRAINING = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
            - {name: pytorch, image: any, command: [sh, -c, "sleep 0.5; echo $RANK of $WORLD_SIZE"]}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - {name: pytorch, image: any, command: [sh, -c, "echo $RANK of $WORLD_SIZE"]}
"""

with DAG("jobs", schedule=None):
    indexed = KubernetesJobOperator(
        task_id="indexed",
        image="alpine",
        cmds=["sh", "-c", "echo part $JOB_COMPLETION_INDEX"],
        completion_mode="Indexed",
        completions=20,
        parallelism=20,
        backoff_limit=0,
        wait_until_job_complete=True,
        job_poll_interval=0.2,
    )
    fails = KubernetesJobOperator(
        task_id="fails",
        image="alpine",
        cmds=["sh", "-c", "exit 1"],
        completions=1,
        parallelism=1,
        backoff_limit=1,
        wait_until_job_complete=True,
        job_poll_interval=0.2,
    )
    create = KubernetesCreateResourceOperator(
        task_id="create", yaml_conf=TRAINING, custom_resource_definition=True, namespace="default"
    )

    @task.sensor(poke_interval=0.2, timeout=3600)
    def wait():
        found = KubernetesHook().get_custom_object(
            group="kubeflow.org", version="v1", plural="pytorchjobs", name="train"
        )
        conditions = found.get("status", {}).get("conditions", [])
        return any(one["type"] == "Succeeded" for one in conditions)

    delete = KubernetesDeleteResourceOperator(
        task_id="delete", yaml_conf=TRAINING, custom_resource_definition=True, namespace="default"
    )
    create.as_setup() >> wait() >> delete.as_teardown(setups=create)
