"""One pod gives a value to the next, through the API of Airflow."""

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG, Param

with DAG("two_pods", schedule=None, params={"word": Param("hello", type="string")}):
    first = KubernetesPodOperator(
        task_id="first",
        image="alpine",
        cmds=["sh", "-c"],
        arguments=['echo "$WORD"; printf \'{"word": "%s"}\' "$WORD" > /airflow/xcom/return.json'],
        env_vars={"WORD": "{{ params.word }}"},
        do_xcom_push=True,
    )
    second = KubernetesPodOperator(
        task_id="second",
        image="alpine",
        cmds=["sh", "-c"],
        arguments=['echo "got $SEEN"'],
        env_vars={"SEEN": "{{ ti.xcom_pull(task_ids='first')['word'] }}"},
    )
    first >> second
