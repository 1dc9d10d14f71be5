"""The best grouping by a mixed integer linear program, solved with HiGHS through scipy."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from couler.errors import ConfigurationError
from couler.optimizers.grouping.contraction import contracted
from couler.optimizers.grouping.greedy import greedy_groups, made_convex
from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.solution import Solution, assemble, assemble_members, price


# Automated Planning for Optimal Data Pipeline Instantiation, sections 3 and 4, for the problem;
# the program is ours.
@dataclass(frozen=True, slots=True)
class OptimalGroups:
    """The best grouping of a streaming problem, and a bound for a batch problem."""

    seconds: float | None = None

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping, with a bound."""
        if not problem.operators:
            return Solution((), 0.0, 0.0)
        labels, bound = _solved(problem, self.seconds)
        if labels is None:
            grouping = assemble_members(problem, made_convex(problem, greedy_groups(problem)))
        else:
            members: dict[tuple[int, int], list[int]] = {}
            for node, label in enumerate(labels):
                members.setdefault(label, []).append(node)
            grouping = assemble(problem, [(image, some) for (image, _), some in members.items()])
            convex = made_convex(problem, list(members.values()))
            if len(convex) != len(members):
                grouping = assemble_members(problem, contracted(problem, convex))
        return Solution(grouping, price(problem, grouping).total, bound)


def label_counts(problem: Problem) -> dict[int, int]:
    """Return how many groups each useful image can have in a best grouping."""
    found = {}
    for image in problem.useful_images:
        runs = [node for node, mask in enumerate(problem.masks) if mask >> image & 1]
        shares = sum(
            amounts[node] / limit if limit else 0.0
            for amounts, limit in problem.held
            for node in runs
        )
        most = math.ceil(2 * shares - 1e-9) - 1 if shares else 1
        found[image] = max(1, min(len(runs), most))
    return found


def _solved(
    problem: Problem, seconds: float | None
) -> tuple[list[tuple[int, int]] | None, float | None]:
    """Return for each operator its image and which group of it, and a bound of the cost."""
    try:
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array
    except ImportError as error:
        raise ConfigurationError(
            "grouping by an integer program needs an extra: pip install 'couler[opt]'"
        ) from error
    program = _Program(problem)
    matrix: t.Any = coo_array(
        (program.values, (program.rows, program.columns)), shape=(len(program.lower), program.count)
    ).tocsr()
    options = {"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": seconds})
    result: t.Any = milp(
        np.array(program.costs),
        constraints=LinearConstraint(matrix, np.array(program.lower), np.array(program.upper)),
        bounds=Bounds(0, 1),
        integrality=np.array(program.whole),
        options=options,
    )
    bound = None if result.mip_dual_bound is None else result.mip_dual_bound + program.constant
    if result.x is None:
        return None, bound
    # A label that is taken has the largest of the values: the others are 0 up to rounding.
    labels = [
        max(program.places[node], key=lambda one: result.x[one[1]])[0]
        for node in range(len(problem.operators))
    ]
    return labels, bound


class _Program:
    """The program in coordinates: columns are y, then x, then s."""

    def __init__(self, problem: Problem) -> None:
        self.costs: list[float] = []
        self.whole: list[int] = []
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.constant = 0.0
        self.places: list[list[tuple[tuple[int, int], int]]] = []
        counts = label_counts(problem)
        labels = [(image, copy) for image, count in counts.items() for copy in range(count)]
        used = {label: self._column(problem.image_costs[label[0]], 1) for label in labels}
        self._assign(problem, labels, used)
        for image, copy in labels:
            if copy:  # labels of one image are alike: the first ones are used
                self._row({used[image, copy]: 1.0, used[image, copy - 1]: -1.0}, -math.inf, 0.0)
        self._hold(problem, labels, used)
        self._share(problem)

    @property
    def count(self) -> int:
        """How many columns there are."""
        return len(self.costs)

    def _column(self, cost: float, whole: int) -> int:
        self.costs.append(cost)
        self.whole.append(whole)
        return len(self.costs) - 1

    def _row(self, values: dict[int, float], lower: float, upper: float) -> None:
        self.rows += [len(self.lower)] * len(values)
        self.columns += values.keys()
        self.values += values.values()
        self.lower.append(lower)
        self.upper.append(upper)

    def _assign(
        self, problem: Problem, labels: list[tuple[int, int]], used: dict[tuple[int, int], int]
    ) -> None:
        for mask in problem.masks:
            own = [(label, self._column(0.0, 1)) for label in labels if mask >> label[0] & 1]
            self.places.append(own)
            self._row({column: 1.0 for _, column in own}, 1.0, 1.0)
            for label, column in own:
                self._row({column: 1.0, used[label]: -1.0}, -math.inf, 0.0)

    def _hold(
        self, problem: Problem, labels: list[tuple[int, int]], used: dict[tuple[int, int], int]
    ) -> None:
        columns: dict[tuple[int, int], list[tuple[int, int]]] = {label: [] for label in labels}
        for node, own in enumerate(self.places):
            for label, column in own:
                columns[label].append((node, column))
        for amounts, limit in problem.held:
            scale = 1.0 / limit if limit else 1.0
            for label in labels:
                row = {column: amounts[node] * scale for node, column in columns[label]}
                self._row(row | {used[label]: -float(limit * scale)}, -math.inf, 0.0)

    def _share(self, problem: Problem) -> None:
        saved = problem.costs.inter - problem.costs.intra
        for before, after, weight in problem.pairs:
            self.constant += problem.costs.inter * weight
            there = dict(self.places[after])
            for label, column in self.places[before]:
                if label in there and saved * weight > 0:
                    shared = self._column(-saved * weight, 0)
                    self._row({shared: 1.0, column: -1.0}, -math.inf, 0.0)
                    self._row({shared: 1.0, there[label]: -1.0}, -math.inf, 0.0)
