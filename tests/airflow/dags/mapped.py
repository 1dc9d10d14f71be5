"""A map over what a task has returned: one instance is skipped, and what reads it runs."""

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowSkipException


def skip_second(context):
    if context["ti"].map_index == 1:
        raise AirflowSkipException("not this one")


with DAG("mapped", schedule=None):

    @task
    def items():
        return ["a", "b", "c"]

    made = items()
    double = KubernetesPodOperator.partial(
        task_id="double",
        image="alpine",
        cmds=["sh", "-c", 'printf \'"%s%s"\' "$0" "$0" > /airflow/xcom/return.json'],
        do_xcom_push=True,
        pre_execute=skip_second,
        map_index_template="{{ task.arguments[0] }}",
    ).expand(arguments=made.map(lambda item: [item]))

    @task(trigger_rule="none_failed")
    def gather(ti=None):
        return {
            "all": list(ti.xcom_pull(task_ids="double")),
            "by_index": list(ti.xcom_pull(task_ids="double", map_indexes=[0, 1, 2])),
            "states": ti.get_task_states(
                dag_id=ti.dag_id, run_ids=[ti.run_id], task_ids=["double"]
            )[ti.run_id],
        }

    double >> gather()

    @task
    def none():
        return []

    never = KubernetesPodOperator.partial(task_id="never", image="alpine", cmds=["echo"]).expand(
        arguments=none()
    )

    @task(trigger_rule="none_failed")
    def after_none():
        return "ran"

    @task
    def after_none_strict():
        return "ran"

    never >> [after_none(), after_none_strict()]
