"""A failure stays one though what cleans up after it succeeds."""

from airflow.sdk import DAG, task

with DAG("teardown", schedule=None):

    @task
    def work():
        raise ValueError("broken")

    @task
    def clean():
        return "cleaned"

    work() >> clean().as_teardown()
