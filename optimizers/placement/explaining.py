"""Why a planned task is where it is, and what would be if it were elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from couler.optimizers.placement.first_plans import Plan
from couler.optimizers.placement.improving import Evaluation, Score
from couler.optimizers.placement.planned_pipelines import Outcome
from couler.optimizers.placement.problem import Choice

__all__ = ["explain"]

_TASK_VISITS = 100_000
"""How many tasks all trials may look at together; where they are more, nothing is tried."""


def explain(
    evaluation: Evaluation, plan: Plan, outcome: Outcome, score: Score, order: Sequence[int]
) -> tuple[Choice, ...]:
    """Return the choice of each task.

    The second node is the best of those of other classes, each the one with the fewest seconds of
    tasks, or of its own class if no other can run it. In small workloads the task is tried there,
    and what that would change of the end and of waiting is told; in large ones its seconds are
    compared.

    Parameters
    ----------
    evaluation, plan, outcome, score
        The workload, the plan, what it comes to, and what that is worth.
    order
        The tasks of which choices are wanted.
    """
    model = evaluation.model
    busy = [0.0] * len(model.nodes)
    for task in order:
        busy[plan.nodes[task]] += model.duration(task, plan.nodes[task], plan.nodes)
    idlest = [sorted(inside, key=busy.__getitem__)[:2] for inside in model.classes]
    visits = len(order) ** 2 * len(model.classes)
    tries = visits <= _TASK_VISITS
    found = []
    for task in order:
        node = plan.nodes[task]
        others = [
            next((one for one in inside if one != node), -1)
            for number, inside in enumerate(idlest)
            if model.seconds[task][number] < math.inf
        ]
        others = [one for one in others if one >= 0]
        seconds = model.duration(task, node, plan.nodes)
        why = f"takes {_seconds(seconds)} there, beside {_seconds(busy[node] - seconds)} of others"
        second, why_not = None, ""
        if others and tries:
            trials = [(_tried(evaluation, plan, task, one), one) for one in others]
            there, second = min(trials, key=lambda one: (score(one[0]), one[1]))
            later = there.end - outcome.end
            longer = (there.waiting - outcome.waiting) / max(1, len(model.members))
            why_not = _told(later, longer)
        elif others:
            second = min(others, key=lambda one: model.duration(task, one, plan.nodes) + busy[one])
            other = model.duration(task, second, plan.nodes)
            why_not = f"takes {_seconds(other)} there, beside {_seconds(busy[second])} of others"
        name = None if second is None else model.nodes[second].name
        found.append(Choice(*model.keys[task], model.nodes[node].name, why, name, why_not))
    return tuple(found)


def _tried(evaluation: Evaluation, plan: Plan, task: int, node: int) -> Outcome:
    """Return what a plan comes to with one task elsewhere."""
    before, plan.nodes[task] = plan.nodes[task], node
    found = evaluation.outcome(plan)
    plan.nodes[task] = before
    return found


def _told(later: float, longer: float) -> str:
    parts = [
        f"{what} {_seconds(abs(change))} {more if change > 0 else less}"
        for what, change, more, less in (
            ("all would end", later, "later", "earlier"),
            ("pipelines would wait", longer, "longer on the mean", "less on the mean"),
        )
        if abs(change) >= 0.05
    ]
    return " and ".join(parts) or "would change neither the end nor the waiting"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s"
