"""Runs ended from outside, so that their exit handlers run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from couler.backends.airflow.last_tasks import is_broken_off, last_tasks
from couler.backends.airflow.observing import AT_ONCE, is_cancelled, run_state
from couler.backends.airflow.places import own_name
from couler.backends.airflow.rest import RunApi, time_of
from couler.backends.airflow.run_note import cut_at, dated, marked
from couler.backends.airflow.task_states import Instance, Task
from couler.backends.remote import Json
from couler.errors import EngineError
from couler.ir.workflow import Workflow

_UNDER_WAY = ("running", "deferred", "up_for_reschedule", "awaiting_input", "restarting")
_DELETE_S = 60.0


def cancel(run: RunApi, workflow: Workflow) -> None:
    """End a run; nothing happens to one that has ended."""
    dag_run = run.get()
    if run_state(dag_run) not in ("running", "cancelled"):
        return
    before = run.tasks()
    last = last_tasks(workflow, before)
    others = {
        one: task
        for one, task in before.items()
        if one not in last and one[0] not in _clean_up(workflow)
    }
    if is_cancelled(dag_run) and is_broken_off(dag_run, [before[one] for one in last]):
        _finish(run, last, _cut_off(dag_run, others), dag_run)
    elif run_state(dag_run) == "running":
        left = {one: task for one, task in others.items() if not task.is_over}
        note = marked(str(dag_run.get("note") or ""))
        ended = {**run.change(state="failed", note=note), "note": note}
        if left:
            _finish(run, last, left, ended)
        else:
            _tell_when(run, ended)


def _finish(
    run: RunApi, last: set[Instance], left: dict[Instance, Task], ended: Mapping[str, Json]
) -> None:
    """Have the exit handlers run, after Airflow has ended what was left to run."""
    _tell_when(run, ended)
    is_over = run_state(ended) != "running"
    has_failed = any(task.state in (*_UNDER_WAY, "failed") for task in left.values())
    if left and not (is_over and (not last or has_failed)):
        run.fail(_one_at_the_end(run, list(left)))
    if last:
        run.clear(sorted(last), dry=False, latest=False)


def _tell_when(run: RunApi, ended: Mapping[str, Json]) -> None:
    """Note when the run was ended, which tells what was cut off from what had failed before."""
    note, when = str(ended.get("note") or ""), time_of(ended.get("end_date"))
    if when is not None and cut_at(note) is None:
        run.change(note=dated(note, when))


def _cut_off(dag_run: Mapping[str, Json], tasks: dict[Instance, Task]) -> dict[Instance, Task]:
    """Return the tasks that had not ended before the run was."""
    when = cut_at(str(dag_run.get("note") or "")) or time_of(dag_run.get("end_date"))
    return {
        one: task
        for one, task in tasks.items()
        if not task.is_over
        or (
            task.state in ("failed", "skipped")
            and (when is None or task.finished is None or abs(task.finished - when) < AT_ONCE)
        )
    }


def _clean_up(workflow: Workflow) -> set[str]:
    """Return the ids of tasks that delete what a run has made, which Airflow lets run."""
    return {"delete-claims", "delete-budget", own_name("remove-resources", workflow)} - {
        step.name for step in workflow.steps
    }


def _one_at_the_end(run: RunApi, left: list[Instance]) -> Instance:
    """Return one of several tasks that none of the others comes after."""
    edges = run.api.edges(run.dag_id)
    names = {task for task, _ in left}
    return next((one for one in left if names.isdisjoint(edges.get(one[0], ()))), left[-1])


def delete(run: RunApi, *, between_s: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Take a run away; one that is under way is ended first, without exit handlers."""
    dag_run = run.find()
    if dag_run is None:
        return
    if run_state(dag_run) == "running":
        run.change(state="failed")
    until = time.monotonic() + _DELETE_S
    while not run.delete():
        if time.monotonic() > until:
            raise EngineError(
                f"airflow: the run {run.dag_run_id} still deletes what it has made; delete it "
                "again when it has ended"
            )
        sleep(between_s)
