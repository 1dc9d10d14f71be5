"""The outcome of a run under Airflow at the paths of the workflow's own steps.

It is read from the tasks alone: whether a step ran, and how it ended, is what its tasks say.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from couler.backends.airflow.doubts import find_output
from couler.backends.airflow.outputs import RUN_OUTPUTS
from couler.backends.airflow.places import (
    Axis,
    Spot,
    axis,
    exit_groups,
    free,
    has_maker,
    is_dynamic,
    item_count,
    own_name,
)
from couler.backends.airflow.reading import last_steps
from couler.errors import WireError
from couler.ir.graph import Graph
from couler.ir.paths import StepPath
from couler.ir.status import failed_leaves
from couler.ir.wire import decode
from couler.ir.workflow import Group, Step, Workflow

TaskStates: t.TypeAlias = Mapping[tuple[str, int], str]
"""The state of each task instance by its task and map index, -1 for one that is not mapped."""

_STATES = {
    "success": "succeeded",
    "failed": "failed",
    "skipped": "skipped",
    "upstream_failed": "omitted",
}


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
        states: TaskStates,
        xcoms: Mapping[tuple[str, int], t.Any],
    ) -> None:
        self.status = "succeeded" if state == "success" else "failed"
        self.states: dict[str, str] = {}
        self.outputs: dict[str, dict[str, object]] = {}
        self.inlined: set[str] = set()
        self.run_outputs: dict[str, object] = xcoms.get((own_name(RUN_OUTPUTS, workflow), -1)) or {}
        self._states = states
        self._xcoms = xcoms
        self._scope(Tasks(), workflow.steps, StepPath())
        for handler in workflow.exit_handlers:
            prefix = f"{exit_groups(workflow)[handler.name]}."
            path = StepPath() / f"exit:{handler.name}"
            gate = states[f"{prefix}{own_name('when', handler)}", -1]
            self.states[str(path)] = _STATES[gate]
            if gate == "success":
                ends = self._scope(Tasks(prefix), handler.steps, path)
                if failed_leaves(Graph.of(handler.steps), ends):
                    self.states[str(path)] = "failed"

    def _scope(self, scope: Tasks, steps: tuple[Step, ...], path: StepPath) -> dict[str, t.Any]:
        by_name = {step.name: step for step in steps}
        states: dict[str, t.Any] = {}
        for name in Graph.of(steps).topological_order:
            step = by_name[name]
            spot = Spot(step, f"{scope.prefix}{name}", scope.axis(step), frozenset(by_name))
            states[name] = self._step(spot, scope, path / name)
            if isinstance(step.action, Group) and not spot.has_end:
                self.inlined.add(str(path / name))
            elif states[name] != "succeeded" and step.foreach is None:
                self._default(step, path / name)
            self.states[str(path / name)] = states[name]
        return states

    def _step(self, spot: Spot, scope: Tasks, path: StepPath) -> str:
        step = spot.step
        if spot.is_plain and step.foreach is None:
            return self._task(step, path, spot.base, scope.index)
        refusal = self._refusal(spot, scope)
        if refusal is not None:
            return _STATES[refusal]
        if step.foreach is not None:
            return self._items(spot, scope, path)
        return self._item(spot, scope.within(spot.item), path)

    def _refusal(self, spot: Spot, scope: Tasks) -> str | None:
        """Return the state of a step of several tasks that did not start, None for one that did.

        It is that of the task that the others wait for, if there is one.
        """
        foreach = spot.step.foreach
        inside = self._inside(spot.base, scope.index)
        if spot.is_plain and foreach is not None and not has_maker(foreach):
            ends = set(inside.values())
            return next((one for one in ("skipped", "upstream_failed") if ends == {one}), None)
        first = self._states.get((spot.first, scope.index))
        if first is None:
            return "upstream_failed" if set(inside.values()) == {"upstream_failed"} else None
        if first == "success":
            return None
        inside.pop((spot.first, scope.index), None)
        steps = set(_places(spot.step))
        for (task, _), state in inside.items():
            is_own = _ITEM_OR_ROUND.sub("", task[len(spot.base) :]) not in steps
            assert state in _ends(task, is_own, first), f"{task} is {state} where {first}"
        return first

    def _inside(self, base: str, index: int) -> dict[tuple[str, int], str]:
        """Return the states of the tasks of a step; in an item of a mapped group of that item."""
        return {
            (task, number): state
            for (task, number), state in self._states.items()
            if (task == base or task.startswith(f"{base}.")) and index in (-1, number)
        }

    def _items(self, spot: Spot, scope: Tasks, path: StepPath) -> str:
        foreach = spot.step.foreach
        assert foreach is not None
        if is_dynamic(foreach):
            count = len(self._xcoms[spot.maker, scope.index])
        else:
            count = item_count(foreach)
        states = set()
        for number in range(count):
            at = path.at_item(number)
            if spot.is_plain:
                state = self._task(spot.step, at, spot.base, number)
            else:
                index = number if spot.items == "mapped" else scope.index
                item = scope.within(spot.item.replace("item_#", f"item_{number}"), index)
                state = self._item(spot, item, at)
            self.states[str(at)] = state
            states.add(state)
        self._gather(spot.step, path, count)
        for number in range(count):
            if self.states[str(path.at_item(number))] != "succeeded":
                self._default(spot.step, path.at_item(number))
        lists = free(f"{spot.step.name}-lists", spot.beside)
        place = spot.base[: -len(spot.step.name)] + lists
        if self._states.get((place, scope.index)) == "failed":
            states.add("failed")
        return "failed" if {"failed", "omitted"} & states else "succeeded"

    def _item(self, spot: Spot, tasks: Tasks, path: StepPath) -> str:
        """Return the state of an item, or of a step that has none."""
        step = spot.step
        if step.loop is None:
            return self._round(spot, tasks, path)
        for number in range(step.loop.max_iterations):
            round_ = tasks.within(f"{tasks.prefix}round_{number}")
            gate = round_.prefix[:-1]
            if isinstance(step.action, Group):
                gate = f"{round_.prefix}{own_name('when', step.action)}"
            if self._states[gate, tasks.index] not in ("success", "failed"):
                break
            at = path.at_round(number)
            self.states[str(at)] = self._round(spot, round_, at)
            if self.states[str(at)] != "succeeded":
                self._default(step, at)
            self.outputs[str(path)] = self.outputs.get(str(at), {})
        if spot.items is None:
            end = self._states[f"{tasks.prefix}{spot.bound}", tasks.index]
            state = {"skipped": "succeeded"}.get(end, "failed")
        else:
            self.outputs.pop(str(path), None)
            self._keep(step, path, f"{tasks.prefix}end", tasks.index)
            end = self._states[f"{tasks.prefix}end", tasks.index]
            state = {"success": "succeeded"}.get(end, "failed")
        if state == "failed":
            self.outputs.pop(str(path), None)
        return state

    def _round(self, spot: Spot, tasks: Tasks, path: StepPath) -> str:
        step = spot.step
        if not isinstance(step.action, Group):
            return self._task(step, path, tasks.prefix[:-1], tasks.index)
        gate = f"{tasks.prefix}{own_name('when', step.action)}"
        if self._states.get((gate, tasks.index)) == "failed":
            return "failed"
        inside = self._scope(tasks, step.action.steps, path)
        if not spot.has_end:
            ends = {inside[name] for name in last_steps(step.action.steps)}
            return "failed" if {"failed", "omitted"} & ends else "succeeded"
        end = f"{tasks.prefix}{own_name('end', step.action)}"
        self._keep(step, path, end, tasks.index)
        return {"success": "succeeded"}.get(self._states[end, tasks.index], "failed")

    def _default(self, step: Step, path: StepPath) -> None:
        """Keep the defaults of a step that gave nothing."""
        for output in step.outputs:
            if output.default is not None:
                self.outputs.setdefault(str(path), {}).setdefault(output.name, output.default)

    def _gather(self, step: Step, path: StepPath, count: int) -> None:
        """Gather the outputs of all items; null stands for those that failed."""
        items = [self.outputs.get(str(path.at_item(index)), {}) for index in range(count)]
        names = {output.name for output in step.outputs} | {name for one in items for name in one}
        for name in names:
            gathered = [item.get(name) for item in items]
            self.outputs.setdefault(str(path), {})[name] = gathered

    def _task(self, step: Step, path: StepPath, task: str, index: int) -> str:
        self._keep(step, path, task, index)
        return _STATES[self._states[task, index]]

    def _keep(self, step: Step, path: StepPath, task: str, index: int) -> None:
        for name, text in (self._xcoms.get((task, index)) or {}).items():
            if text is None:
                continue
            try:
                value = decode(text, find_output(step, name).type)
            except WireError:  # it fails those that decode it, not the step that gave it
                value = text
            self.outputs.setdefault(str(path), {})[name] = value


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


@dataclass(frozen=True)
class Tasks:
    """What the ids of tasks begin with, and the map index that they have."""

    prefix: str = ""
    index: int = -1

    def within(self, place: str, index: int | None = None) -> Tasks:
        """Return the tasks of a group."""
        return Tasks(f"{place}.", self.index if index is None else index)

    def axis(self, step: Step) -> Axis | None:
        """Return how the items of a step are tasks."""
        return axis(step, within_mapped=self.index >= 0)
