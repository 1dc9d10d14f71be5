"""The outcome of a run under Airflow at the paths of the workflow's own steps.

The steps are read as `couler.backends.airflow.instances` reads them for users; on top of it, that
nothing of a step has run which did not start.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping

from couler.backends.airflow.instances import Found, RunSteps
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.ir.semantics.wire import typed
from couler.ir.workflow import Group, Step, Workflow

_ITEM_OR_ROUND = re.compile(r"\.(item|(item|round)_[0-9]+)(?=\.|$)")


class AirflowOutcome:
    """Statuses and outputs by path.

    Attributes
    ----------
    status
        Of the run.
    states
        Of each step by its path.
    outputs
        Of each step by its path: what its tasks have handed on, or its defaults.
    inlined
        Paths of groups of which no task gives the outputs: what reads one reads a step inside. They
        are compared where they are read.
    run_outputs
        Of the workflow.

    Parameters
    ----------
    workflow
        The workflow as it was compiled.
    state
        Of the DAG run.
    states
        Of its tasks.
    xcoms
        The returned values of its tasks.
    """

    def __init__(
        self,
        workflow: Workflow,
        state: str,
        states: Mapping[Instance, str | None],
        xcoms: Mapping[Instance, t.Any],
    ) -> None:
        self.status = "succeeded" if state == "success" else "failed"
        tasks = {instance: Task(one) for instance, one in states.items()}
        table = TaskTable(tasks, has_failed=self.status == "failed", was_cancelled=False)
        steps = RunSteps(workflow, table, xcoms.get)
        self.states = {
            path: str(one.stand.status)
            for path, one in steps.found.items()
            if one.stand.status is not None
        }
        self.outputs = {path: _values(one) for path, one in steps.found.items() if _values(one)}
        self.inlined = steps.inlined
        self.run_outputs = dict(steps.run_outputs())
        for found in steps.found.values():
            if not found.runs and found.stand.status in ("skipped", "omitted"):
                _check_left_out(found, table)


def _values(found: Found) -> dict[str, object]:
    return {name: _value(one) for name, one in found.stand.outputs.items()}


def _value(given: t.Any) -> object:
    if given is None or isinstance(given, list):
        return given and [_value(one) for one in given]
    return typed(given["text"], given["type"])


def _check_left_out(found: Found, table: TaskTable) -> None:
    """Check that nothing of a step has run that did not start."""
    spot, index = found.spot, found.tasks.index
    first = "skipped" if found.stand.status == "skipped" else "upstream_failed"
    gates = found.stand.own[:1]
    steps = set(_places(spot.step))
    for instance in table.within(spot.base, index):
        if instance in gates:
            continue
        task, state = instance[0], table.tasks[instance].state
        is_own = _ITEM_OR_ROUND.sub("", task[len(spot.base) :]) not in steps
        assert state in _ends(task, is_own, first), f"{task} is {state} where {first}"


def _places(step: Step, place: str = "") -> Iterator[str]:
    """Yield what ids of a step and of those inside it have behind that of the step."""
    yield place
    for inner in step.action.steps if isinstance(step.action, Group) else ():
        yield from _places(inner, f"{place}.{inner.name}")


def _ends(task: str, is_own: bool, first: str) -> set[str]:
    """Return how a task of a step can end that did not start.

    Below a failure a task of the compiler's own can have run: one that looks at the ends of others,
    and one that fails so that what comes after a group does not run.
    """
    ends = {"skipped", "upstream_failed"}
    if is_own and first != "skipped":
        ends |= {"failed", "success"} if "-needs" in task.rpartition(".")[2] else {"failed"}
    return ends
