"""How tasks end, what the rules of others make of it, and a teardown that hides no failure."""

import sys
import time
from datetime import timedelta

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

SOON = timedelta(seconds=0.1)
RULES = (
    "all_success",
    "none_failed",
    "none_failed_min_one_success",
    "all_done",
    "one_failed",
    "none_skipped",
)


def raise_error(context):
    raise ValueError("before the task")


def raise_fail(context):
    raise AirflowFailException("before the task")


with DAG("endings", schedule=None):

    @task
    def good():
        return 1

    @task
    def skipped():
        raise AirflowSkipException("on purpose")

    @task(retries=2, retry_delay=SOON)
    def fails_for_good():
        raise AirflowFailException("no use in trying again")

    @task(retries=1, retry_delay=SOON)
    def fails():
        raise ValueError("twice")

    @task(retries=1, retry_delay=SOON, pre_execute=raise_error)
    def fails_before():
        pass

    @task(retries=1, retry_delay=SOON, pre_execute=raise_fail)
    def fails_before_for_good():
        pass

    @task
    def exits():
        sys.exit(0)

    @task(execution_timeout=timedelta(seconds=0.5))
    def late():
        time.sleep(3600)

    @task
    def below():
        pass

    ends = {"good": good(), "skipped": skipped(), "failed": fails_for_good()}
    fails(), fails_before(), fails_before_for_good(), exits(), late()
    ends["upstream_failed"] = below()
    ends["failed"] >> ends["upstream_failed"]
    for rule in RULES:
        for end in ("skipped", "failed", "upstream_failed"):

            @task(task_id=f"{rule}.{end}", trigger_rule=rule)
            def follower():
                pass

            [ends["good"], ends[end]] >> follower()

    @task
    def prepare():
        pass

    @task
    def work():
        raise ValueError("broken")

    @task
    def clean():
        return "cleaned"

    before = prepare()
    before >> work() >> clean().as_teardown(setups=before)
