"""Runs ended from outside, so that their exit handlers run."""

from __future__ import annotations

import time
from collections.abc import Callable

from couler.backends.airflow.observing import marked, run_state
from couler.backends.airflow.outputs import CHECK_OUTPUTS, RUN_OUTPUTS
from couler.backends.airflow.places import exit_groups, own_name
from couler.backends.airflow.rest import RunApi, time_of
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.errors import EngineError
from couler.ir.workflow import Workflow

_UNDER_WAY = ("running", "deferred", "up_for_reschedule", "awaiting_input", "restarting")
_DELETE_S = 60.0


def cancel(run: RunApi, workflow: Workflow) -> None:
    """End a run; nothing happens to one that has ended.

    Notes
    -----
    Airflow ends a run at once, with all tasks that come after its steps: those that run fail, all
    others are skipped. Then the tasks of the exit handlers are cleared, and that which gives the
    run its status; the run goes on with them alone. Both they and Airflow, where it still has to
    delete what the run has made, take a run for failed by the last of its tasks. One of those is
    made to fail where none may have.
    """
    dag_run = run.get()
    if run_state(dag_run) != "running":
        return
    before = run.tasks()
    last, clean_up = _last_tasks(workflow, before), _clean_up(workflow)
    left = [
        one
        for one, task in before.items()
        if one not in last and one[0] not in clean_up and not task.is_over
    ]
    note = str(dag_run.get("note") or "")
    ended = run.change(state="failed", note=marked(note))
    when = time_of(ended.get("end_date"))
    if when is not None:  # which tells what was cut off from what had failed before
        run.change(note=marked(note, when))
    if not left:
        return
    is_over = run_state(ended) != "running"
    if not (is_over and (not last or any(before[one].state in _UNDER_WAY for one in left))):
        run.fail(_one_at_the_end(run, left))
    if last:
        run.clear(sorted(last), dry=False, latest=False)


def _last_tasks(workflow: Workflow, tasks: dict[Instance, Task]) -> set[Instance]:
    """Return the task instances that come after the steps of a run, however these end."""
    table = TaskTable(tasks, has_failed=False, was_cancelled=False)
    names = (CHECK_OUTPUTS, "run-status")
    places = [*exit_groups(workflow).values(), *(own_name(name, workflow) for name in names)]
    if own_name("run-status", workflow) in {task for task, _ in tasks}:
        places.append(own_name(RUN_OUTPUTS, workflow))
    return {one for place in places for one in table.within(place)}


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
