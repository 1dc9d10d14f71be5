"""Why a planned task is where it is, and what would be if it were elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from couler.optimizers.figure_texts import seconds_text, usd_text
from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.first_plans import Plan
from couler.optimizers.placement.improving import Evaluation, Score, idlest_nodes
from couler.optimizers.placement.planned_pipelines import Outcome
from couler.optimizers.placement.problem import Choice

__all__ = ["explain"]

_TASK_VISITS = 100_000
"""How many tasks all trials may look at together; where they are more, nothing is tried."""

_LEAST_S = 0.001
"""Fewer seconds are told as none: nobody measures them."""

_LEAST_SHARE = 1e-6
"""A smaller part of the cost is told as none."""


def explain(
    evaluation: Evaluation,
    plan: Plan,
    outcome: Outcome,
    score: Score,
    order: Sequence[int],
    *,
    tells_cost: bool = False,
) -> tuple[Choice, ...]:
    """Return the choice of each task."""
    model = evaluation.model
    seconds = {task: model.duration(task, plan.nodes[task], plan.nodes) for task in order}
    busy = _Busy(evaluation, plan, outcome, seconds)
    idlest = idlest_nodes(model, plan.nodes, order)
    tries = len(order) ** 2 * len(model.classes) <= _TASK_VISITS
    found = []
    for task in order:
        node = plan.nodes[task]
        others = _others(model, task, node, idlest)
        second, why_not = None, ""
        if others and tries:
            trials = [(evaluation.outcome_with(plan, task, one), one) for one in others]
            there, second = min(
                trials, key=lambda one: (score(one[0]), model.thrift[one[1]], one[1])
            )
            why_not = _told(outcome, there, len(model.members), tells_cost)
            if not why_not:
                which = (
                    "neither the cost, nor the end, nor" if tells_cost else "neither the end nor"
                )
                why_not = f"would change {which} the waiting{_also(model, node, second)}"
        elif others:
            takes = {one: model.duration(task, one, plan.nodes) for one in others}
            second = min(others, key=lambda one: (takes[one] + busy.before(one), model.thrift[one]))
            why_not = f"takes {seconds_text(takes[second])} there{busy.told_of_node(second)}"
            waits = busy.before(second) - busy.before(node)
            if abs(takes[second] - seconds[task] + waits) < _LEAST_S:
                why_not += _also(model, node, second)
        why = f"takes {seconds_text(seconds[task])} there{busy.told_of_task(task)}"
        name = None if second is None else model.nodes[second].name
        found.append(Choice(*model.keys[task], model.nodes[node].name, why, name, why_not))
    return tuple(found)


class _Busy:
    """What else nodes have to do: where they are shared, how long tasks wait for room on them."""

    def __init__(
        self, evaluation: Evaluation, plan: Plan, outcome: Outcome, seconds: Mapping[int, float]
    ) -> None:
        self.tasks = [0.0] * len(evaluation.model.nodes)
        """The seconds of all tasks of each node."""
        self._model = evaluation.model
        self._nodes = plan.nodes
        self._seconds = seconds
        self._waits: dict[int, float] = {}
        for task, duration in seconds.items():
            self.tasks[plan.nodes[task]] += duration
        if not self._model.is_shared:
            return
        waits: dict[int, list[float]] = {}
        for task in seconds:
            ready = self._model.now
            for source, _ in self._model.before[task]:
                end = self._model.fixed_end[source]
                if source in seconds:
                    end = outcome.starts[source] + seconds[source]
                ready = max(ready, end)
            self._waits[task] = max(0.0, outcome.starts[task] - ready)
            number = self._model.class_of[plan.nodes[task]]
            waits.setdefault(number, []).append(self._waits[task])
        self._mean = {number: sum(some) / len(some) for number, some in waits.items()}

    def before(self, node: int) -> float:
        """Return how long a task may have to wait for a node."""
        if self._model.is_shared:
            return self._mean.get(self._model.class_of[node], 0.0)
        return self.tasks[node]

    def told_of_task(self, task: int) -> str:
        """Say what a task waits for on its node, or what else that has to do."""
        if not self._model.is_shared:
            others = self.tasks[self._nodes[task]] - self._seconds[task]
            return f", beside {seconds_text(others)} of others"
        wait = self._waits[task]
        return f", after {seconds_text(wait)} of waiting for others" if wait >= _LEAST_S else ""

    def told_of_node(self, node: int) -> str:
        """Say the same of a node on which a task is not."""
        wait = self.before(node)
        if not self._model.is_shared:
            return f", beside {seconds_text(wait)} of others"
        return f", where tasks wait {seconds_text(wait)} on the mean" if wait >= _LEAST_S else ""


def _others(
    model: Compiled, task: int, node: int, idlest: Sequence[Sequence[int]]
) -> Sequence[int]:
    """Return nodes that could run a task too: of other groups, or if there are none of its own."""
    able = [
        next((one for one in inside if one != node), -1)
        for number, inside in enumerate(idlest)
        if model.seconds[task][number] < math.inf
    ]
    able = [one for one in able if one >= 0]
    group, number = model.nodes[node].group, model.class_of[node]
    elsewhere = [
        one
        for one in able
        if (model.nodes[one].group != group if group else model.class_of[one] != number)
    ]
    return elsewhere or able


def _told(now: Outcome, there: Outcome, pipelines: int, tells_cost: bool) -> str:
    """Say what would change; nothing if nothing would."""
    later, longer = there.end - now.end, (there.waiting - now.waiting) / max(1, pipelines)
    dearer = there.cost - now.cost
    parts = [
        f"{what} {seconds_text(abs(change))} {more if change > 0 else less}"
        for what, change, more, less in (
            ("all would end", later, "later", "earlier"),
            ("pipelines would wait", longer, "longer on the mean", "less on the mean"),
        )
        if abs(change) >= _LEAST_S
    ]
    if tells_cost and abs(dearer) > _LEAST_SHARE * max(now.cost, there.cost):
        parts.append(f"all would cost {usd_text(abs(dearer))} {'more' if dearer > 0 else 'less'}")
    return " and ".join(parts)


def _also(model: Compiled, node: int, second: int) -> str:
    """Say what decides between two nodes on which a task ends at the same time, if anything."""
    one, other = model.thrift[node], model.thrift[second]
    if one[0] < other[0]:
        dearer = other[0] < math.inf
        return ", and is dearer by the hour" if dearer else ", and its price is not known"
    return ", and is larger" if one[0] == other[0] and one[1:] < other[1:] else ""
