"""The tasks that come after the steps of a run, of one that is ended from outside."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from couler.backends.airflow.outputs import CHECK_OUTPUTS, RUN_OUTPUTS
from couler.backends.airflow.places import exit_groups, own_name
from couler.backends.airflow.rest import time_of
from couler.backends.airflow.run_note import cut_at, is_marked
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.backends.remote import Json
from couler.ir.workflow import Workflow

_SOON = timedelta(seconds=30)
"""How long after a run was ended its exit handlers may be cleared by who has ended it."""


def last_tasks(workflow: Workflow, tasks: Mapping[Instance, Task]) -> set[Instance]:
    """Return the task instances that come after the steps of a run, however these end."""
    table = TaskTable(tasks, has_failed=False, was_cancelled=False)
    names = (CHECK_OUTPUTS, "run-status")
    places = [*exit_groups(workflow).values(), *(own_name(name, workflow) for name in names)]
    if own_name("run-status", workflow) in {task for task, _ in tasks}:
        places.append(own_name(RUN_OUTPUTS, workflow))
    return {one for place in places for one in table.within(place)}


def is_broken_off(dag_run: Mapping[str, Json], last: Collection[Task]) -> bool:
    """Return whether a run was ended whose exit handlers were not cleared to run."""
    if not last or any(task.ran for task in last):
        return False
    if dag_run.get("state") != "failed":  # it still deletes what it has made
        return all(task.is_over for task in last)
    when, begun = cut_at(str(dag_run.get("note") or "")), time_of(dag_run.get("start_date"))
    return when is None or begun is None or begun <= when


def goes_on_soon(
    dag_run: Mapping[str, Json],
    workflow: Workflow,
    tasks: Mapping[Instance, Task],
    *,
    now: datetime | None = None,
) -> bool:
    """Return whether a run was ended from here just now, and its exit handlers are to run yet."""
    ended = time_of(dag_run.get("end_date"))
    if not is_marked(str(dag_run.get("note") or "")) or ended is None:
        return False
    if abs((now or datetime.now(UTC)) - ended) > _SOON:
        return False
    return is_broken_off(dag_run, [tasks[one] for one in last_tasks(workflow, tasks)])
