"""Values of pods: those that arrive as they are, and one that the operator spoils."""

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG, literal, task

TEXT = "é€"
SIZE = 40_000


def writes(task_id, expression):
    program = f"open('/airflow/xcom/return.json', 'w').write({expression})"
    return KubernetesPodOperator(
        task_id=task_id,
        image="alpine",
        cmds=["python", "-c"],
        arguments=[literal(f"import json; {program}")],
        do_xcom_push=True,
    )


with DAG("values", schedule=None):
    pods = [
        writes("large", "json.dumps('x' * 2_000_000)"),
        writes("escaped", f"json.dumps({TEXT!r} * {SIZE})"),
        writes("raw", f"json.dumps({TEXT!r} * {SIZE}, ensure_ascii=False)"),
    ]

    @task
    def compare(ti=None):
        large, escaped, raw = (ti.xcom_pull(task_ids=one.task_id) for one in pods)
        return [large == "x" * 2_000_000, escaped == TEXT * SIZE, "\ufffd" in raw]

    pods >> compare()
