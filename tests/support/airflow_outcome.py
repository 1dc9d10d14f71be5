"""The outcome of a run under Airflow at the paths of the workflow's own steps."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.backends.airflow.outputs import RUN_OUTPUTS
from couler.backends.airflow.parameters import param
from couler.backends.airflow.reading import Scope, find_output, is_static, item_rows, task_name
from couler.backends.local.status import failed_leaves, refuse_start
from couler.errors import WireError
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
        self.run_outputs: dict[str, object] = xcoms.get((RUN_OUTPUTS, -1)) or {}
        self._states = states
        self._xcoms = xcoms
        params = {one.name: param(one) for one in workflow.parameters}
        scope = Scope({step.name: step for step in workflow.steps}, params=params)
        self._scope(scope, workflow.steps, StepPath())
        for handler in workflow.exit_handlers:
            prefix = f"exit-{task_name(handler.name)}."
            path = StepPath() / f"exit:{handler.name}"
            gate = states[f"{prefix}when", -1]
            self.states[str(path)] = _STATES[gate]
            if gate == "success":
                steps = {step.name: step for step in handler.steps}
                ends = self._scope(Scope(steps, prefix), handler.steps, path)
                if failed_leaves(Graph.of(handler.steps), ends):
                    self.states[str(path)] = "failed"

    def _scope(self, scope: Scope, steps: tuple[Step, ...], path: StepPath) -> dict[str, t.Any]:
        graph = Graph.of(steps)
        by_name = {step.name: step for step in steps}
        states: dict[str, t.Any] = {}
        for name in graph.topological_order:
            states[name] = self._step(by_name[name], scope, path / name, states)
            self.states[str(path / name)] = states[name]
        return states

    def _step(self, step: Step, scope: Scope, path: StepPath, before: Mapping[str, t.Any]) -> str:
        task = scope.task(step.name)
        if isinstance(step.action, Group):
            refusal = refuse_start(step, before)
            if refusal is not None:
                return refusal.state
            gate = self._states.get((f"{task}.when", -1))
            if gate in ("skipped", "failed"):
                return _STATES[gate]
            inner = scope.inside(step, step.action)
            inside = self._scope(inner, step.action.steps, path)
            return "failed" if failed_leaves(Graph.of(step.action.steps), inside) else "succeeded"
        if step.foreach is not None:
            return self._each(step, task, path)
        self._keep(step, path, task, -1)
        return _STATES[self._states[task, -1]]

    def _each(self, step: Step, task: str, path: StepPath) -> str:
        assert step.foreach is not None
        items = {at: state for (name, at), state in self._states.items() if name == task}
        if -1 in items:
            maker = self._states.get((f"{task}-items", -1))
            if maker == "failed":
                return "failed"
            empty = not item_rows(step.foreach) if is_static(step.foreach) else maker == "success"
            if items[-1] == "skipped" and empty:
                self.outputs[str(path)] = {output.name: [] for output in step.outputs}
                return "succeeded"
            return _STATES[items[-1]]
        if set(items.values()) <= {"skipped"}:
            return "skipped"
        if set(items.values()) <= {"upstream_failed"}:
            return "omitted"
        for index, state in sorted(items.items()):
            self.states[str(path.at_item(index))] = _STATES[state]
            self._keep(step, path.at_item(index), task, index)
        self._gather(step, path, len(items))
        ends = {*items.values(), self._states.get((f"{task}-list", -1))}
        return "failed" if {"failed", "upstream_failed"} & ends else "succeeded"

    def _gather(self, step: Step, path: StepPath, count: int) -> None:
        """Gather the outputs of all items; null stands for those that failed."""
        items = [self.outputs.get(str(path.at_item(index)), {}) for index in range(count)]
        for name in {name for item in items for name in item}:
            gathered = [item.get(name) for item in items]
            self.outputs.setdefault(str(path), {})[name] = gathered

    def _keep(self, step: Step, path: StepPath, task: str, index: int) -> None:
        for name, text in (self._xcoms.get((task, index)) or {}).items():
            try:
                value = decode(text, find_output(step, name).type)
            except WireError:  # it fails those that decode it, not the step that gave it
                value = text
            self.outputs.setdefault(str(path), {})[name] = value
