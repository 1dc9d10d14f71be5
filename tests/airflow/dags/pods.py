"""Pods that wait for a trigger, fail, are taken away, or cannot start."""

from datetime import timedelta

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG, literal

NASTY = "a {{ b }} {% c %} {# d #} ${#e[@]} \r\n 'x' \"y\" \\ é \n"


def pod(task_id, script, **more):
    return KubernetesPodOperator(task_id=task_id, image="alpine", cmds=["sh", "-c", script], **more)


def hit(task_id, **more):
    return pod(task_id, "sleep 3600", labels={"hit": task_id}, **more)


with DAG("pods", schedule=None):
    deferred = pod(
        "deferred",
        "sleep 0.5; echo 5 > /airflow/xcom/return.json",
        do_xcom_push=True,
        deferrable=True,
        poll_interval=0.5,
    )
    deferred_fails = pod("deferred_fails", "exit 4", deferrable=True, poll_interval=0.5)
    fails = pod("fails", "echo broken; exit 3", retries=1, retry_delay=timedelta(seconds=0.1))
    fails_with_value = pod(
        "fails_with_value", "echo 7 > /airflow/xcom/return.json; exit 3", do_xcom_push=True
    )
    writes_no_json = pod(
        "writes_no_json", "echo no json > /airflow/xcom/return.json", do_xcom_push=True
    )
    writes_nothing = pod("writes_nothing", "true", do_xcom_push=True)
    skips = pod("skips", "exit 99", skip_on_exit_code=99)
    evicted = hit("evicted")
    vanished = hit("vanished")
    no_node = hit("no_node", schedule_timeout_seconds=1)
    no_image = KubernetesPodOperator(task_id="no_image", image="unknown:1", cmds=["true"])
    wrong_type = KubernetesPodOperator(
        task_id="wrong_type", image="alpine", cmds=["true"], env_vars=literal({"A": [1]})
    )
    text = KubernetesPodOperator(
        task_id="text",
        image="alpine",
        cmds=["printf", "%s"],
        arguments=[literal(NASTY)],
        env_vars={"TEXT": literal(NASTY), "FILLED": "{{ run_id }}"},
    )
    configured = pod(
        "configured",
        'echo "$TOKEN $LR"',
        env_from=[
            {"secretRef": {"name": "keys"}},
            {"configMapRef": {"name": "settings"}},
        ],
    )
