"""Runs ended from outside, so that their exit handlers run."""

from __future__ import annotations

import time
from collections.abc import Callable

from couler.backends.airflow.instances import RunSteps
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
    run its status; the run goes on with them alone. They take a run for failed if a step has
    failed, so one of those that were to come is made to, where none ran.
    """
    dag_run = run.get()
    if run_state(dag_run) != "running":
        return
    before = run.tasks()
    last = _last_tasks(workflow, before)
    left = [one for one, task in before.items() if one not in last and not task.is_over]
    note = str(dag_run.get("note") or "")
    ended = time_of(run.change(state="failed", note=marked(note)).get("end_date"))
    if ended is not None:  # which tells what was cut off from what had failed before
        run.change(note=marked(note, ended))
    if not left or not last:
        return
    if not any(before[one].state in _UNDER_WAY for one in left):
        run.fail(_first_left(workflow, before, left))
    run.clear(sorted(last), dry=False, latest=False)


def _last_tasks(workflow: Workflow, tasks: dict[Instance, Task]) -> set[Instance]:
    """Return the task instances that come after the steps of a run, however these end."""
    table = TaskTable(tasks, has_failed=False, was_cancelled=False)
    names = (CHECK_OUTPUTS, "run-status")
    places = [*exit_groups(workflow).values(), *(own_name(name, workflow) for name in names)]
    if own_name("run-status", workflow) in {task for task, _ in tasks}:
        places.append(own_name(RUN_OUTPUTS, workflow))
    return {one for place in places for one in table.within(place)}


def _first_left(workflow: Workflow, tasks: dict[Instance, Task], left: list[Instance]) -> Instance:
    """Return a task that did not begin, of a step if there is one.

    Tasks that look at the ends of others do: that they fail says nothing of the run.
    """
    table = TaskTable(tasks, has_failed=False, was_cancelled=False)
    steps = RunSteps(workflow, table, lambda _: None)
    users = {one for found in steps.found.values() if found.runs for one in found.stand.own}
    return next((one for one in left if one in users), left[0])


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
