"""What DAGs are given, and what overrides change."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.base import FrozenDict
from couler.ir.pods import PodCleanup, RunSettings
from couler.ir.policies import Loop
from couler.ir.storage import EnvVar
from couler.ir.workflow import Output, Schedule, Workflow
from tests.backends.airflow.files import calls_of
from tests.support.sample_flows import AGAIN, OVER_LIST, echo, flow

BACKEND = AirflowBackend()


def dag_of(workflow: Workflow, version: str | None = None) -> dict[str, t.Any]:
    text = BACKEND.compile(workflow, Target(engine_version=version)).to_text()
    return calls_of(text)[""]


def codes_of(workflow: Workflow) -> list[str]:
    return [one.code for one in BACKEND.check(workflow, Target())]


A_MINUTE_LATE = ("timedelta", {"minutes": 1})
SCHEDULE = Schedule(cron=("0 4 * * *",), timezone="Europe/Berlin")


@pytest.mark.parametrize(("rounds", "is_heavy"), [(1_998, False), (1_999, True)])
def test_many_tasks_are_not_weighed_by_what_is_behind_them(rounds: int, *, is_heavy: bool) -> None:
    again = Loop(condition=AGAIN.condition, max_iterations=rounds)
    steps = (echo("a"), echo("again", loop=again, outputs=(Output(),)))
    assert dag_of(flow(*steps))["default_args"].get("weight_rule") == (
        "absolute" if is_heavy else None
    )
    first = echo("a", engine={"airflow": {"priority_weight": 7}})
    assert "weight_rule" not in dag_of(flow(first, *steps[1:]))["default_args"]
    own = {"airflow": {"default_args": {"weight_rule": "upstream"}}}
    assert dag_of(flow(*steps, engine=own))["default_args"]["weight_rule"] == "upstream"


def test_several_crons() -> None:
    schedule = Schedule(cron=("0 4 * * *", "0 5 * * 1"), concurrency="forbid", suspended=True)
    given = dag_of(flow(echo("a"), schedule=schedule))
    options = {"timezone": "UTC", "run_immediately": A_MINUTE_LATE}
    name = "MultipleCronTriggerTimetable"
    assert given["schedule"] == (name, "0 4 * * *", "0 5 * * 1", options)
    assert given["max_active_runs"] == 1
    assert given["is_paused_upon_creation"] is True


@pytest.mark.parametrize(
    "fields", [{"concurrency": "replace"}, {"starting_deadline_s": 60}], ids=repr
)
def test_what_the_scheduler_cannot_do_is_refused(fields: dict[str, t.Any]) -> None:
    schedule = SCHEDULE.model_copy(update=fields)
    assert codes_of(flow(echo("a"), schedule=schedule)) == ["CLR373"]


def test_settings_of_runs_are_defaults_of_tasks() -> None:
    runs = RunSettings(priority=5, pod_cleanup=PodCleanup(when="pod_success"))
    given = dag_of(flow(echo("a"), runs=runs))["default_args"]
    assert given["on_finish_action"] == "delete_succeeded_pod"
    assert (given["priority_weight"], given["weight_rule"]) == (5, "absolute")


def test_overrides_are_merged_last() -> None:
    own = {"pool": "small", "retries": 3, "env_vars": {"B": "{{ conn.db.password }}", "C": "c"}}
    step = echo(
        "a",
        env=(EnvVar(name="A", value="{{ a }}"), EnvVar(name="B", value="b")),
        engine=FrozenDict(airflow=own),
    )
    whole = {"max_active_runs": 2, "default_args": {"queue": "large", "retries": 1}}
    workflow = flow(step, engine=FrozenDict(airflow=whole))
    assert codes_of(workflow) == []
    found = calls_of(BACKEND.compile(workflow, Target()).to_text())
    assert (found["a"]["pool"], found["a"]["retries"]) == ("small", 3)
    # What is overridden is read by Jinja, what is not is the user's text.
    assert found["a"]["env_vars"] == {"A": "{{ a }}", "B": "{{ conn.db.password }}", "C": "c"}
    assert found[""]["max_active_runs"] == 2
    assert found[""]["default_args"] == {
        "retries": 1,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "queue": "large",
    }


def test_labels_of_a_mapped_operator_cannot_be_overridden() -> None:
    step = echo("a", foreach=OVER_LIST, engine=FrozenDict(airflow={"labels": {"a": "b"}}))
    assert codes_of(flow(step)) == ["CLR377"]
