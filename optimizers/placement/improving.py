"""Better plans, by small changes that are tried one after the other."""

from __future__ import annotations

import math
import random
import typing as t
from collections.abc import Callable, Sequence

from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.first_plans import Plan
from couler.optimizers.placement.planned_pipelines import Course, Outcome, course_of, run_pipelines
from couler.optimizers.placement.planned_tasks import run_tasks

__all__ = ["SEARCHING", "SETTLING", "Evaluation", "Score", "improve"]

Score: t.TypeAlias = Callable[[Outcome], float]
"""What a plan is worth: the less, the better."""

SEARCHING = (0.1, 1e-4)
SETTLING = (0.02, 1e-6)
"""By how much of its score a plan may become worse in one change, at first and at last: where a
good plan is searched for, and where the best that is near one is."""

_STAGES = 5
"""How often the search goes back to the best plan, less one."""

_OF_LAST = 0.3
"""The share of changes that are of the pipeline which ends last."""


class Evaluation:
    """What plans come to; of pipelines as wholes, the courses of those that stay are kept."""

    def __init__(self, model: Compiled) -> None:
        self.model = model
        self.is_whole = model.rules.dispatch == "pipelines"
        self._courses: dict[tuple[int, tuple[int, ...]], Course] = {}

    def outcome(self, plan: Plan) -> Outcome:
        """Return what a plan comes to."""
        if not self.is_whole:
            return run_tasks(self.model, plan.nodes, plan.priority)
        courses = [self._course(number, plan.nodes) for number in range(len(self.model.members))]
        order = sorted(range(len(courses)), key=plan.priority.__getitem__)
        return run_pipelines(self.model, order, courses)

    def _course(self, pipeline: int, nodes: Sequence[int]) -> Course:
        key = pipeline, tuple([nodes[task] for task in self.model.members[pipeline]])
        found = self._courses.get(key)
        if found is None:
            found = self._courses[key] = course_of(self.model, pipeline, nodes)
        return found


def improve(
    evaluation: Evaluation,
    plan: Plan,
    score: Score,
    *,
    evaluations: int,
    seed: int,
    heat: tuple[float, float] = SEARCHING,
) -> tuple[Plan, float]:
    """Return the best plan that is found from a first one, and its score.

    Parameters
    ----------
    evaluation
        Of the workload.
    plan
        The first plan; it is kept as it is.
    score
        What is to become less.
    evaluations
        How many changes are tried.
    seed
        Of what is tried.
    heat
        By how much of its score a plan may become worse in one change, at first and at last.

    Notes
    -----
    Simulated annealing: a task, or all of a pipeline, goes to another node, or two change places in
    the order. What is worse is taken with a chance that falls. The work is bounded by the number of
    evaluations, each near linear in the tasks, not by time, so that equal inputs have equal plans.
    """
    moves = _Moves(evaluation, seed)
    outcome = evaluation.outcome(plan)
    now = best = score(outcome)
    current, found = plan.copy(), plan.copy()
    if not moves.tasks:
        return found, best
    last = outcome.last
    for number in range(evaluations):
        if number and number % max(1, evaluations // _STAGES) == 0:
            current, now = found.copy(), best
        nodes, priority = moves.change(current, last)
        if not nodes and not priority:
            continue
        outcome = evaluation.outcome(current)
        value = score(outcome)
        warmth = heat[0] * (heat[1] / heat[0]) ** (number / evaluations) * abs(best)
        if value <= now or moves.draws.random() < math.exp((now - value) / max(warmth, 1e-300)):
            now, last = value, outcome.last
            if value < best:
                best, found = value, current.copy()
            continue
        for task, node in nodes:
            current.nodes[task] = node
        for one, before in priority:
            current.priority[one] = before
    return found, best


_Undo: t.TypeAlias = tuple[list[tuple[int, int]], list[tuple[int, float]]]


class _Moves:
    """Changes of a plan, each drawn by chance; what they return takes them back."""

    def __init__(self, evaluation: Evaluation, seed: int) -> None:
        self.draws = random.Random(seed)
        self.tasks = [task for inside in evaluation.model.members for task in inside]
        self._model = evaluation.model
        self._is_whole = evaluation.is_whole
        self._pipelines = [n for n, inside in enumerate(self._model.members) if inside]
        self._able = {
            task: [c for c, seconds in enumerate(self._model.seconds[task]) if seconds < math.inf]
            for task in self.tasks
        }

    def change(self, plan: Plan, last: int) -> _Undo:
        """Change a plan in which some pipeline ends last."""
        pipeline = -1
        if last >= 0 and self.draws.random() < _OF_LAST:
            pipeline = last
        inside = self.tasks if pipeline < 0 else self._model.members[pipeline]
        kind = self.draws.random()
        if kind < 0.4:
            task = self.draws.choice(inside)
            return self._put(plan, [task], self._node_for(task, plan)), []
        if kind < 0.6:
            if pipeline < 0:
                pipeline = self.draws.choice(self._pipelines)
            tasks = self._model.members[pipeline]
            return self._put(plan, tasks, self._node_for(self.draws.choice(tasks), plan)), []
        if self._is_whole:
            return [], self._swap(plan, self._pipelines, [pipeline] if pipeline >= 0 else None)
        return [], self._swap(plan, self.tasks, inside)

    def _node_for(self, task: int, plan: Plan) -> int:
        """Draw a node: one that a neighbour of the task uses, or any of some class."""
        if self.draws.random() < 0.3:
            near = [
                plan.nodes[one]
                for one in (
                    *(source for source, _ in self._model.before[task]),
                    *self._model.after[task],
                )
                if plan.nodes[one] >= 0
            ]
            if near:
                return self.draws.choice(near)
        return self.draws.choice(self._model.classes[self.draws.choice(self._able[task])])

    def _put(self, plan: Plan, tasks: Sequence[int], node: int) -> list[tuple[int, int]]:
        number = self._model.class_of[node]
        undo = []
        for task in tasks:
            if plan.nodes[task] != node and self._model.seconds[task][number] < math.inf:
                undo.append((task, plan.nodes[task]))
                plan.nodes[task] = node
        return undo

    def _swap(
        self, plan: Plan, all_of: Sequence[int], some: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """Let one of some and one of all change places in the order."""
        one, other = self.draws.choice(some or all_of), self.draws.choice(all_of)
        first, second = plan.priority[one], plan.priority[other]
        if first == second:
            return []
        if self._is_whole or self.draws.random() < 0.5:
            plan.priority[one], plan.priority[other] = second, first
            return [(one, first), (other, second)]
        # All tasks of a pipeline are shifted, so that it goes before or after another one.
        inside = self._model.members[self._model.pipeline_of[one]]
        undo = [(task, plan.priority[task]) for task in inside]
        for task in inside:
            plan.priority[task] += second - first
        return undo
