"""A pod that the triggerer waits for, and one below it that reads its value."""

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG

with DAG("deferred", schedule=None):
    first = KubernetesPodOperator(
        task_id="first",
        image="alpine",
        cmds=["sh", "-c", "sleep 0.5; echo 5 > /airflow/xcom/return.json"],
        do_xcom_push=True,
        deferrable=True,
        poll_interval=0.5,
    )
    second = KubernetesPodOperator(
        task_id="second",
        image="alpine",
        cmds=["echo"],
        arguments=["{{ ti.xcom_pull(task_ids='first') + 1 }}"],
    )
    first >> second
