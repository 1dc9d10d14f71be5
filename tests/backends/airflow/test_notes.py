"""What people are told beside a DAG file."""

from __future__ import annotations

from couler import stages
from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.artifacts import LogSettings
from couler.ir.pods import PodSettings, StepPod
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.workflow import Schedule, Workflow
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()


def notes_of(workflow: Workflow, **options: str) -> tuple[str, ...]:
    return BACKEND.compile(workflow, Target(options=options)).notes


def test_how_long_runs_and_logs_are_kept_is_ignored_and_reported() -> None:
    schedule = Schedule(cron=("0 4 * * *",), keep_succeeded=0)
    workflow = flow(echo("a", logs=LogSettings(keep=False)), schedule=schedule)
    [note] = stages.compile(workflow, "airflow").notes
    assert note == (
        "airflow ignores keep-after-end (Airflow keeps runs until `airflow db clean`); "
        "keep-logs (Airflow keeps logs where its settings say)"
    )


def test_accounts_of_executors_are_not_used_and_need_not_exist() -> None:
    step = echo("a", pod=StepPod(executor_service_account="of-step"))
    pod = PodSettings(service_account="runs", executor_service_account="of-all")
    account, *others = notes_of(flow(step, pod=pod))
    assert account == 'service account "runs" must exist'
    assert [one.partition(":")[0] for one in others] == [
        'executor_service_account "of-all"',
        'executor_service_account "of-step"',
    ]


def test_a_secret_that_is_a_connection_need_not_exist_as_a_secret() -> None:
    env = tuple(
        EnvVar(name=f"{name}_{key}", secret=SecretKey(secret=name, key=key))
        for name in ("db", "hub")
        for key in ("login", "token")
    )
    assert notes_of(flow(echo("a", env=env)), connections="db") == (
        'connection "db" with login, token must exist in Airflow',
        'secret "hub" with the keys login, token must exist',
    )
