"""A job whose pods come late: with its usual number of looks, the operator does not see them."""

from airflow.providers.cncf.kubernetes.operators.job import KubernetesJobOperator
from airflow.sdk import DAG


def job(task_id, **more):
    return KubernetesJobOperator(
        task_id=task_id,
        image="alpine",
        cmds=["true"],
        completions=1,
        parallelism=1,
        job_poll_interval=0.2,
        **more,
    )


with DAG("late_jobs", schedule=None):
    not_waited_for = job("not_waited_for")
    not_seen = job("not_seen", wait_until_job_complete=True)
    seen = job("seen", wait_until_job_complete=True, discover_pods_retry_number=10**9)
