"""The best groups that never wait in a circle, by constraint programming with CP-SAT."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable
from dataclasses import dataclass

from couler.errors import ConfigurationError, GroupingError
from couler.optimizers.grouping.contraction import ContractedGroups
from couler.optimizers.grouping.problem import Pod, Problem
from couler.optimizers.grouping.solution import (
    Solution,
    assemble,
    longest_path_s,
    numbers_of,
    price,
)

PER_UNIT = 1000
"""Costs are counted in thousandths, and seconds in milliseconds: CP-SAT knows integers alone."""


@dataclass(frozen=True, slots=True)
class ConvexGroups:
    """The best grouping of a batch problem, or the best that was found in some time."""

    seconds: float = 60.0
    workers: int = 1

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping, with a bound."""
        if problem.mode == "streaming":
            raise GroupingError(
                "cp-sat cannot solve this problem", ["it is of streaming mode; choose milp"]
            )
        if not problem.operators:
            return Solution((), 0.0, 0.0)
        try:
            from ortools.sat.python import cp_model
        except ImportError as error:
            raise ConfigurationError(
                "grouping by constraint programming needs an extra: pip install 'couler[cp]'"
            ) from error
        start = ContractedGroups().solve(problem)
        program = _Program(problem, start, cp_model.CpModel())
        solver: t.Any = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = self.seconds
        solver.parameters.num_workers = self.workers
        status = solver.solve(program.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Solution(start.grouping, start.cost, None)
        members: dict[tuple[int, int], list[int]] = {}
        for node, own in enumerate(program.at):
            label = next(label for label, chosen in own.items() if solver.value(chosen))
            members.setdefault(label, []).append(node)
        grouping = assemble(problem, [(image, some) for (image, _), some in members.items()])
        bound = solver.best_objective_bound / PER_UNIT - program.rounding
        cost = price(problem, grouping).total
        if cost > start.cost:
            return Solution(start.grouping, start.cost, bound)
        return Solution(grouping, cost, bound)


class _Program:
    """The program; `at` has for each operator a truth value for each of its labels."""

    def __init__(self, problem: Problem, start: Solution, model: t.Any) -> None:
        self.problem = problem
        self.model = model
        self.rounding = 0.0
        positions = range(most_groups(problem, start.cost))
        self.labels = [(image, place) for image in problem.useful_images for place in positions]
        self.used = {label: model.new_bool_var("") for label in self.labels}
        self.at: list[dict[tuple[int, int], t.Any]] = []
        self.together: dict[tuple[int, int], t.Any] = {}
        self.objective: list[t.Any] = [
            self._whole(problem.image_costs[label[0]]) * used for label, used in self.used.items()
        ]
        self._assign()
        self._share(len(positions))
        if problem.costs.per_lost_s:
            self._time()
        self._hint(start)
        model.minimize(sum(self.objective))

    def _whole(self, value: float) -> int:
        whole = round(value * PER_UNIT)
        self.rounding += abs(whole / PER_UNIT - value)
        return whole

    def _assign(self) -> None:
        for mask in self.problem.masks:
            own = {
                label: self.model.new_bool_var("") for label in self.labels if mask >> label[0] & 1
            }
            self.at.append(own)
            self.model.add_exactly_one(own.values())
            for label, chosen in own.items():
                self.model.add_implication(chosen, self.used[label])

    def _share(self, count: int) -> None:
        model, costs = self.model, self.problem.costs
        place = []
        for own in self.at:
            place.append(model.new_int_var(0, count - 1, ""))
            model.add(place[-1] == sum(label[1] * chosen for label, chosen in own.items()))
        for before, after, weight in self.problem.pairs:
            shared = []
            for label, chosen in self.at[before].items():
                if label in self.at[after]:
                    both = model.new_bool_var("")
                    model.add_implication(both, chosen)
                    model.add_implication(both, self.at[after][label])
                    model.add_bool_or(~chosen, ~self.at[after][label], both)
                    shared.append(both)
            same = model.new_bool_var("")
            self.together[before, after] = same
            model.add(sum(shared) == same)
            model.add(place[after] >= place[before] + 1 - same)
            inter = self._whole(costs.inter * weight)
            self.objective.append(inter - (inter - self._whole(costs.intra * weight)) * same)

    def _time(self) -> None:
        """Add when groups and operators start and end, in milliseconds."""
        model, problem = self.model, self.problem
        took = [round(one.seconds * PER_UNIT) for one in problem.operators]
        latest = 2 * sum(took) + len(took)
        begin = {label: model.new_int_var(0, latest, "") for label in self.labels}
        end = {label: model.new_int_var(0, latest, "") for label in self.labels}
        last = model.new_int_var(0, latest, "")
        starts, groups_end, ends = [], [], []
        for node, own in enumerate(self.at):
            starts.append(model.new_int_var(0, latest, ""))
            groups_end.append(model.new_int_var(0, latest, ""))
            ends.append(model.new_int_var(0, latest, ""))
            model.add(ends[node] >= starts[node] + took[node])
            model.add(groups_end[node] >= ends[node])
            for label, chosen in own.items():
                model.add(starts[node] == begin[label]).only_enforce_if(chosen)
                model.add(groups_end[node] == end[label]).only_enforce_if(chosen)
        for (before, after), same in self.together.items():
            model.add(ends[after] >= ends[before] + took[after]).only_enforce_if(same)
            model.add(starts[after] >= groups_end[before]).only_enforce_if(~same)
        for label in self.labels:
            model.add(last >= end[label])
            self._keep_busy(label, begin[label], end[label])
        lost = model.new_int_var(0, latest, "")
        model.add(lost >= last - round(longest_path_s(problem) * PER_UNIT))
        per = self._whole(problem.costs.per_lost_s)
        self.objective.append(model.new_int_var(0, per * latest // PER_UNIT + 1, ""))
        model.add(PER_UNIT * self.objective[-1] >= per * lost)
        # Each operator's time is rounded, and each term of a sum of work.
        self.rounding += problem.costs.per_lost_s * 2 * len(took) / PER_UNIT + 1 / PER_UNIT

    def _keep_busy(self, label: tuple[int, int], begin: t.Any, end: t.Any) -> None:
        """Let a group take as long as `couler.optimizers.grouping.problem.busy_seconds` says."""
        own = {node: places[label] for node, places in enumerate(self.at) if label in places}
        some = {node: self.problem.operators[node] for node in own}
        limits = self.problem.limits
        largest = Pod.for_operators(tuple(some.values()), limits)
        bounds: list[tuple[int, Pod, t.Any]] = [(kind, largest, None) for kind in range(4)]
        if limits.sized_by_group:
            bounds = bounds[2:]
            for size in sorted({one.cpu for one in some.values()}):
                over = self._is_any(own[node] for node, one in some.items() if one.cpu > size)
                bounds.append((0, Pod.of(limits, size, 0), over))
            for size in sorted({one.memory_bytes for one in some.values()}):
                over = self._is_any(
                    own[node] for node, one in some.items() if one.memory_bytes > size
                )
                bounds.append((1, Pod.of(limits, 0.0, size), over))
        for kind, pod, over in bounds:
            work = [
                int(one.seconds * PER_UNIT * pod.shares(one)[kind]) * own[node]
                for node, one in some.items()
            ]
            bound = self.model.add(end >= begin + sum(work))
            if over is not None:
                bound.only_enforce_if(~over)

    def _is_any(self, some: Iterable[t.Any]) -> t.Any:
        """Return a truth value that can only hold if one of some does; None if there are none."""
        values = list(some)
        if not values:
            return None
        found = self.model.new_bool_var("")
        self.model.add(sum(values) >= 1).only_enforce_if(found)
        return found

    def _hint(self, start: Solution) -> None:
        images = {image.name: number for number, image in enumerate(self.problem.images)}
        for node, group in enumerate(numbers_of(self.problem, start.grouping)):
            chosen = images[start.grouping[group].image], group
            for label, variable in self.at[node].items():
                self.model.add_hint(variable, label == chosen)


def most_groups(problem: Problem, cost: float) -> int:
    """Return how many groups a grouping can have that costs at most so much."""
    count = len(problem.operators)
    least = problem.costs.intra * sum(weight for *_, weight in problem.pairs)
    each = min(problem.image_costs[image] for image in problem.useful_images)
    return min(count, max(1, int((cost - least + 1e-6) / each))) if each else count
