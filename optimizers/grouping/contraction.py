"""Groups that never wait for each other in a circle: merging that looks at each step, restarted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from couler.optimizers.grouping.contracting import Contracting
from couler.optimizers.grouping.greedy import greedy_groups, made_convex
from couler.optimizers.grouping.moving import move_operators
from couler.optimizers.grouping.problem import Grouping, Problem
from couler.optimizers.grouping.solution import Solution, assemble_members, price, solved

MOST_RESTARTS, SMALL = 40, 100
"""How many restarts there are for up to so many operators, and fewer for more of them."""

SLOWER = 5
"""By how many times fewer restarts are made where lost seconds cost."""


@dataclass(frozen=True, slots=True)
class ContractedGroups:
    """The best of several contractions."""

    restarts: int | None = None
    seed: int = 0

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping."""
        draw = random.Random(self.seed)
        best: tuple[float, Grouping] | None = None
        for number in range(-1, self._restarts(problem)):
            start = made_convex(problem, greedy_groups(problem)) if number < 0 else None
            groups = contracted(problem, start, draw if number > 0 else None)
            grouping = assemble_members(problem, groups)
            found = price(problem, grouping).total, grouping
            if best is None or found[0] < best[0] - 1e-9:
                best = found
        return solved(problem, best[1] if best else ())

    def _restarts(self, problem: Problem) -> int:
        if self.restarts is not None:
            return self.restarts
        count = max(1, len(problem.operators)) * (SLOWER if problem.costs.per_lost_s else 1)
        return max(1, min(MOST_RESTARTS, MOST_RESTARTS * SMALL // count))


def contracted(
    problem: Problem,
    start: Sequence[Sequence[int]] | None = None,
    draw: random.Random | None = None,
) -> list[list[int]]:
    """Return groups that are merged and improved, from some or from each operator by itself."""
    groups: Sequence[Sequence[int]] | None = start
    for _ in range(2):  # moving leaves groups that can be merged, but seldom more than once
        groups = move_operators(problem, Contracting(problem, groups).run(draw))
    return Contracting(problem, groups).run()
