"""What `couler retry` would do: which steps are taken over, which run, and why.

It walks the workflow as the interpreter does, with the recorded outputs, and stops at what would
run: what depends on that runs too. Exit handlers are planned for a run that succeeds.
"""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from couler.backends.local.earlier import Earlier
from couler.backends.local.ends import RUNS, End, Instance, readable_defaults
from couler.backends.local.iteration import foreach_items, gather
from couler.backends.local.keys import StepKeys
from couler.backends.local.outputs import outputs_of, read_results, scope_outputs
from couler.backends.local.status import State, failed_leaves, refuse_start
from couler.backends.local.values import VALUE_ERRORS, Outputs, View, bind_input, holds
from couler.ir import workflow as ir
from couler.ir.graph import Graph
from couler.ir.paths import HANDLER_PREFIX, PathPart, StepPath
from couler.ir.policies import Foreach, Loop

Verdict: t.TypeAlias = t.Literal["reused", "runs", "skipped", "omitted"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """What a retry would do with a step that runs something.

    Attributes
    ----------
    path
        Place of the instance; of the whole where its items are not known yet.
    verdict
        What would become of it.
    reason
        Why, in words; None for what is taken over.
    """

    path: str
    verdict: Verdict
    reason: str | None = None


def plan_retry(
    workflow: ir.Workflow,
    view: View,
    earlier: Earlier,
    keys: StepKeys,
    *,
    read: Collection[str],
) -> tuple[PlannedStep, ...]:
    """Return what a retry would do with each step, in the order in which they could run.

    Parameters
    ----------
    workflow
        The workflow, which may have changed since; without defaults.
    view
        Facts and parameters of the run.
    earlier
        What is recorded of it.
    keys
        The keys of its steps, as they would run now.
    read
        Names of the steps of the workflow whose standard output something reads.
    """
    planner = _Planner(earlier, keys)
    ends, _ = planner.walk_scope(workflow.steps, StepPath(), view, read)
    outputs = {name: end.outputs for name, end in ends.items()}
    after = replace(view, run=replace(view.run, status="succeeded"), steps=outputs)
    since = max((end.since for end in ends.values()), default=0)
    why = "it runs after the steps, and not all of them are reused" if since == RUNS else None
    for handler in workflow.exit_handlers:
        if handler.on != "failure":
            path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
            inside = read_results(handler.steps, ())
            planner.walk_scope(handler.steps, path, after, inside, why=why, since=since)
    return tuple(planner.steps)


class _Planner:
    def __init__(self, earlier: Earlier, keys: StepKeys) -> None:
        self.steps: list[PlannedStep] = []
        self._earlier = earlier
        self._keys = keys

    def walk_scope(
        self,
        steps: tuple[ir.Step, ...],
        path: StepPath,
        view: View,
        read: Collection[str],
        *,
        why: str | None = None,
        since: int = 0,
    ) -> tuple[Mapping[str, End], tuple[str, ...]]:
        """Plan a scope; `why` tells why all in it runs, where it does; `since` as of `Around`."""
        by_name = {step.name: step for step in steps}
        graph = Graph.of(steps)
        ends: dict[str, End] = {}
        states: dict[str, State] = {}
        readable: dict[str, Outputs] = dict(view.steps)
        for name in graph.topological_order:
            step = by_name[name]
            instance = Instance(step, path / name, outputs_of(step, is_read=name in read))
            if not instance.is_shown:
                instance = instance.at(path)
            latest = max((since, *(ends[before].since for before in graph.predecessors[name])))
            running = [before for before in graph.predecessors[name] if _runs(ends[before])]
            because = f"it depends on {running[0]}, which runs" if running else why
            end = self._plan_step(instance, replace(view, steps=readable), latest, states, because)
            # As in a run: what is left out hands on what it would have waited for.
            ends[name] = end = replace(end, since=max(latest, end.since))
            states[name] = end.state
            readable[name] = end.outputs
        return ends, failed_leaves(graph, states)

    def _plan_step(
        self,
        instance: Instance,
        view: View,
        since: int,
        states: Mapping[str, State],
        why: str | None,
    ) -> End:
        step = instance.step
        if why is not None:
            return self._run(instance, why)
        refusal = refuse_start(step, states)
        if refusal is not None:
            return self._leave_out(instance, refusal.state, refusal.reason)
        try:
            if step.when is not None and not holds(step.when, view):
                return self._leave_out(instance, "skipped", "its condition is false")
            if step.foreach is not None:
                return self._plan_foreach(instance, step.foreach, view, since)
        except VALUE_ERRORS as error:
            return self._run(instance, f"it failed: {error}")
        return self._plan_item(instance, view, since)

    def _plan_foreach(self, instance: Instance, foreach: Foreach, view: View, since: int) -> End:
        items = foreach_items(foreach, view)
        ends = [
            self._plan_item(
                instance.at(instance.path.at_item(index)), replace(view, items=item), since
            )
            for index, item in enumerate(items)
        ]
        if any(map(_runs, ends)):
            return _RUNS
        names = [output.name for output in instance.outputs]
        latest = max((end.since for end in ends), default=0)
        return End("succeeded", gather(names, [end.outputs for end in ends]), since=latest)

    def _plan_item(self, instance: Instance, view: View, since: int) -> End:
        loop = instance.step.loop
        if loop is None:
            return self._plan_once(instance, view, since)
        try:
            return self._plan_loop(instance, loop, view, since)
        except VALUE_ERRORS as error:
            return self._run(instance, f"it failed: {error}")

    def _plan_loop(self, instance: Instance, loop: Loop, view: View, since: int) -> End:
        previous: Outputs | None = None
        for number in range(loop.max_iterations):
            round_ = instance.at(instance.path.at_round(number))
            end = self._plan_once(round_, replace(view, round=previous), since)
            if _runs(end):
                return end
            since = max(since, end.since)
            previous = end.outputs
            if not holds(loop.condition, replace(view, round=previous)):
                return End("succeeded", previous, since=since)
        return self._run(instance, f"it needs more than {loop.max_iterations} rounds")

    def _plan_once(self, instance: Instance, view: View, since: int) -> End:
        action = instance.step.action
        try:
            if isinstance(action, ir.Group):
                return self._plan_group(instance, action, view, since)
            key = self._keys.of(instance.step, view)
        except VALUE_ERRORS as error:
            return self._run(instance, f"it failed: {error}")
        path = str(instance.path)
        names = [output.name for output in instance.outputs]
        found = self._earlier.find(path, key, names, since)
        if found is None:
            return self._run(instance, self._earlier.why_not(path, key, names, since) or "")
        self.steps.append(PlannedStep(path, "reused"))
        return found[0]

    def _plan_group(self, instance: Instance, group: ir.Group, view: View, since: int) -> End:
        step = instance.step
        inputs = {given.name: bind_input(given, view) for given in step.inputs}
        inside = View(view.run, parameters=inputs)
        read = read_results(group.steps, (output.value for output in step.outputs))
        ends, failed = self.walk_scope(group.steps, instance.path, inside, read, since=since)
        if failed or any(map(_runs, ends.values())):
            return _RUNS
        outputs = {name: end.outputs for name, end in ends.items()}
        latest = max((end.since for end in ends.values()), default=0)
        given = scope_outputs(step.outputs, replace(inside, steps=outputs))
        return End("succeeded", given, since=max(since, latest))

    def _run(self, instance: Instance, why: str) -> End:
        self.steps.append(PlannedStep(str(instance.path), "runs", why))
        return _RUNS

    def _leave_out(
        self, instance: Instance, state: t.Literal["skipped", "omitted"], why: str
    ) -> End:
        self.steps.append(PlannedStep(str(instance.path), state, why))
        return End(state, readable_defaults(instance))


def _runs(end: End) -> bool:
    return end.since == RUNS


_RUNS = End("succeeded", since=RUNS)
"""The end of what runs, as far as the plan goes: everything behind it runs too."""
