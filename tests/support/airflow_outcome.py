"""The outcome of a run under Airflow at the paths of the workflow's own steps."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

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
from couler.backends.airflow.reading import find_output
from couler.backends.local.status import failed_leaves, refuse_start
from couler.backends.local.values import RunFacts, View, as_type, from_json, resolve, to_json
from couler.errors import MissingOutputError, WireError
from couler.ir.graph import Graph
from couler.ir.paths import StepPath
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


class AirflowOutcome:
    """Statuses and outputs by path.

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
        graph = Graph.of(steps)
        by_name = {step.name: step for step in steps}
        states: dict[str, t.Any] = {}
        for name in graph.topological_order:
            step = by_name[name]
            refusal = refuse_start(step, states)
            spot = Spot(step, f"{scope.prefix}{name}", scope.axis(step), frozenset(by_name))
            if refusal is not None and not spot.is_plain:
                states[name] = refusal.state
            else:
                states[name] = self._step(spot, scope, path / name)
            if states[name] != "succeeded" and step.foreach is None:
                self._default(step, path / name)
            self.states[str(path / name)] = states[name]
        return states

    def _step(self, spot: Spot, scope: Tasks, path: StepPath) -> str:
        """Return the state of a step whose dependencies are met."""
        step = spot.step
        if spot.is_plain and step.foreach is None:
            return self._task(step, path, spot.base, scope.index)
        gate = spot.maker if step.foreach and has_maker(step.foreach) else f"{spot.base}.when"
        if not spot.is_iterated and isinstance(step.action, Group):
            gate = f"{spot.base}.{own_name('when', step.action)}"
        state = self._states.get((gate, scope.index), "success")
        if state != "success":
            return _STATES[state]
        if step.foreach is not None:
            return self._items(spot, scope, path)
        return self._item(spot, scope.within(spot.item), path)

    def _items(self, spot: Spot, scope: Tasks, path: StepPath) -> str:
        foreach = spot.step.foreach
        assert foreach is not None
        if is_dynamic(foreach):
            count = len(self._xcoms[spot.maker, scope.index])
        else:
            count = item_count(foreach)
        if spot.is_plain and count:
            states = {state for (name, _), state in self._states.items() if name == spot.base}
            for only in ("skipped", "upstream_failed"):
                if states == {only}:
                    return _STATES[only]
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
        state = "succeeded"
        for number in range(step.loop.max_iterations):
            round_ = tasks.within(f"{tasks.prefix}round_{number}")
            gate = round_.prefix[:-1]
            if isinstance(step.action, Group):
                gate = f"{round_.prefix}{own_name('when', step.action)}"
            if self._states[gate, tasks.index] not in ("success", "failed"):
                break
            at = path.at_round(number)
            state = self._round(spot, round_, at)
            self.states[str(at)] = state
            if state != "succeeded":
                self._default(step, at)
            self.outputs[str(path)] = self.outputs.get(str(at), {})
        if self._states[f"{tasks.prefix}{spot.bound}", tasks.index] == "failed":
            state = "failed"
        if state == "failed":
            self.outputs.pop(str(path), None)
        return state

    def _round(self, spot: Spot, tasks: Tasks, path: StepPath) -> str:
        step = spot.step
        if not isinstance(step.action, Group):
            return self._task(step, path, tasks.prefix[:-1], tasks.index)
        inside = self._scope(tasks, step.action.steps, path)
        end = own_name("end", step.action)
        failed = bool(failed_leaves(Graph.of(step.action.steps), inside))
        if spot.has_end:
            task = f"{tasks.prefix}{end}"
            self._keep(step, path, task, tasks.index)
            failed = failed or self._states[task, tasks.index] == "failed"
        elif not failed:
            self._group_outputs(step, step.action, path)
        return "failed" if failed else "succeeded"

    def _group_outputs(self, step: Step, group: Group, path: StepPath) -> None:
        """Evaluate the outputs of a group that no task gives out."""
        steps = {
            inner.name: {
                name: from_json(value)
                for name, value in self.outputs.get(str(path / inner.name), {}).items()
            }
            for inner in group.steps
        }
        view = View(RunFacts("", ""), steps=steps)
        for output in step.outputs:
            if output.value is None:
                continue
            try:
                found = to_json(as_type(resolve(output.value, view), output.type))
            except (MissingOutputError, KeyError):
                found = output.default
            self.outputs.setdefault(str(path), {})[output.name] = found

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
