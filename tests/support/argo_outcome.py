"""The outcome of a run under Argo at the paths of the workflow's own steps.

Groups that the compiler made are looked through: their one step has the path of the group.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping

from couler.backends.argo.lower import lower, writes_gather_files
from couler.backends.argo.names import legal
from couler.backends.argo.pods import thaw
from couler.backends.argo.scope import find_output, is_stdout
from couler.errors import WireError
from couler.ir.paths import StepPath
from couler.ir.status import refuse_start
from couler.ir.wire import ValueType, decode, is_file
from couler.ir.workflow import Group, Output, Step, Workflow
from tests.oracle.argo.result import OracleNode, OracleRun

_ITEM = re.compile(r"\((\d+):")
_EMPTY = "Skipped, empty params"


class Outcome:
    """Statuses and outputs by path.

    Parameters
    ----------
    workflow
        The workflow, its defaults resolved, as it was compiled.
    run
        What Argo made of its manifest.
    """

    def __init__(self, workflow: Workflow, run: OracleRun) -> None:
        self.states: dict[str, str] = {}
        self.outputs: dict[str, dict[str, object]] = {}
        self.messages: dict[str, str] = {}
        self._nodes = run.nodes
        lowered = lower(workflow)
        self.status = "succeeded" if run.phase == "Succeeded" else "failed"
        self._scope(lowered.steps, StepPath(), run.root)
        for handler in lowered.exit_handlers:
            self._handler(handler.name, handler.steps, run)
        self.run_outputs = {
            output.name: _value(run.root.outputs[output.name], output, gathered=False)
            for output in workflow.outputs
            if output.name in run.root.outputs and self.status == "succeeded"
        }

    def _handler(self, name: str, steps: tuple[Step, ...], run: OracleRun) -> None:
        roots = [node for node in self._nodes if node.name == f"{run.root.name}.onExit"]
        [node] = [
            node
            for root in roots
            for node in self._nodes
            if node.boundary_id == root.id and node.display_name == legal(name)
        ]
        path = StepPath() / f"exit:{name}"
        self.states[str(path)] = _state(node)
        if node.phase not in ("Skipped", "Omitted"):
            self._scope(steps, path, node)

    # scopes ----------------------------------------------------------------------------------

    def _children(self, boundary: OracleNode) -> dict[str, OracleNode]:
        """The nodes of a DAG by the part of their names after the DAG's own."""
        prefixes = (boundary.name + ".", boundary.name + "[0].")  # of a DAG, of steps
        return {
            node.name.removeprefix(prefix): node
            for node in self._nodes
            for prefix in prefixes
            if node.boundary_id == boundary.id and node.name.startswith(prefix)
        }

    def _scope(self, steps: tuple[Step, ...], path: StepPath, boundary: OracleNode) -> None:
        children = self._children(boundary)
        states: dict[str, t.Any] = {}
        waiting = {step.name: step for step in steps}
        while waiting:  # a step's state may depend on those that it waits for
            for name, step in list(waiting.items()):
                if any(before in waiting for before in _before(step) if before != name):
                    continue
                del waiting[name]
                states[name] = self._step(step, path / name, children, states)

    def _step(
        self,
        step: Step,
        path: StepPath,
        children: Mapping[str, OracleNode],
        states: Mapping[str, t.Any],
    ) -> str:
        node = children[legal(step.name)]
        state = _state(node)
        if node.phase == "Omitted":
            refusal = refuse_start(step, states)
            assert refusal is not None, f"{path} is omitted, but nothing refuses its start"
            state = refusal.state
        if node.type == "TaskGroup" and all(
            child.phase == "Skipped" for child in self._items(step, children).values()
        ):
            state = "skipped"
        if node.phase == "Skipped" and node.message == _EMPTY and step.when is None:
            state = "succeeded"
        self.states[str(path)] = state
        self.messages[str(path)] = node.message
        if node.phase in ("Skipped", "Omitted") or state == "skipped":
            return state
        if step.foreach is not None:
            for index, item in self._items(step, children).items():
                place = path.at_item(index)
                self.states[str(place)] = _state(item)
                self.messages[str(place)] = item.message
                self._inside(step, place, item)
                self._keep(step, place, item, gathers=True)
        else:
            self._inside(step, path, node)
            self._keep(step, path, node, gathers=False)
        return state

    def _items(self, step: Step, children: Mapping[str, OracleNode]) -> dict[int, OracleNode]:
        prefix = legal(step.name) + "("
        found: dict[int, OracleNode] = {}
        for name, node in children.items():
            match = _ITEM.match(name.removeprefix(legal(step.name)))
            # An attempt of an item has its number behind the item's name.
            if name.startswith(prefix) and match and not re.search(r"\)\(\d+\)$", name):
                found[int(match[1])] = node
        return dict(sorted(found.items()))

    def _inside(self, step: Step, path: StepPath, node: OracleNode) -> None:
        group = step.action
        if not isinstance(group, Group) or node.phase in ("Skipped", "Omitted"):
            return
        node = self._last_attempt(node)
        if step.loop is not None:
            self._rounds(step, group, path, node, first=0)
        else:
            self._body(step, group, path, node)

    def _last_attempt(self, node: OracleNode) -> OracleNode:
        if node.type != "Retry":
            return node
        attempts = [other for other in self._nodes if other.id in node.children]
        return max(attempts, key=lambda other: int(other.name.rpartition("(")[2].rstrip(")")))

    def _body(self, step: Step, group: Group, path: StepPath, node: OracleNode) -> None:
        if not group.transparent:
            self._scope(group.steps, path, node)
            return
        [inner] = group.steps
        [child] = [c for n, c in self._children(node).items() if n == legal(inner.name)]
        if inner.foreach is not None:
            for index, item in self._items(inner, self._children(node)).items():
                place = path.at_item(index)
                self.states[str(place)] = _state(item)
                self._inside(inner, place, item)
                self._keep(inner, place, item, gathers=True)
        else:
            self._inside(inner, path, child)
            self._keep(inner, path, child, gathers=False)

    def _rounds(
        self, step: Step, group: Group, path: StepPath, node: OracleNode, *, first: int
    ) -> None:
        children = self._children(node)
        number = first
        while (child := children.get(f"round-{number - first + 1}")) is not None:
            if child.phase not in ("Skipped", "Omitted"):
                place = path.at_round(number)
                self.states[str(place)] = _state(child)
                self._body(step, group, place, child)
                self._keep(step, place, child, gathers=False)
            number += 1
        again = children["again"]
        if again.phase not in ("Skipped", "Omitted"):
            self._rounds(step, group, path, again, first=number)

    # outputs ---------------------------------------------------------------------------------

    def _keep(self, step: Step, path: StepPath, node: OracleNode, *, gathers: bool) -> None:
        if _state(node) == "failed":
            return
        found: dict[str, object] = {}
        gathered = gathers and (isinstance(step.action, Group) or writes_gather_files(step))
        for name, text in node.outputs.items():
            output = find_output(step, name)
            found[name] = _value(text, output, gathered=gathered)
        result = find_output(step, "result")
        if node.result is not None and is_stdout(step, result):
            found["result"] = _value(node.result, result, gathered=False)
        if found:
            self.outputs.setdefault(str(path), {}).update(found)


def _before(step: Step) -> tuple[str, ...]:
    from couler.ir.walk import predecessors

    return predecessors(step)


def _state(node: OracleNode) -> str:
    if node.phase in ("Failed", "Error"):
        return "failed"
    return node.phase.lower()


def _value(text: str, output: Output, *, gathered: bool) -> object:
    if gathered:
        return json.loads(json.loads(text))
    value_type: ValueType = "str" if is_file(output.type) else output.type
    try:
        return thaw(decode(text, value_type))
    except WireError:  # it fails who reads it, not who made it
        return text
