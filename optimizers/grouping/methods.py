"""The methods by name, behind one small interface."""

from __future__ import annotations

import types
import typing as t
from collections.abc import Callable, Mapping

from couler.optimizers.grouping.contraction import ContractedGroups
from couler.optimizers.grouping.cp_sat import ConvexGroups
from couler.optimizers.grouping.greedy import GreedyGroups, NoGroups, RandomGroups
from couler.optimizers.grouping.milp import OptimalGroups
from couler.optimizers.grouping.planner import PlannedGroups
from couler.optimizers.grouping.problem import CONNECTION, NODE, Problem
from couler.optimizers.grouping.solution import Solution
from couler.optimizers.grouping.tree import TreeGroups


@t.runtime_checkable
class GroupingMethod(t.Protocol):
    """A way to group operators: a frozen dataclass whose fields are its options."""

    def solve(self, problem: Problem) -> Solution:
        """Return a valid grouping of a problem, with its cost and, if it is known, a bound."""


METHODS: Mapping[str, Callable[..., GroupingMethod]] = types.MappingProxyType(
    {
        "none": NoGroups,
        "random": RandomGroups,
        "connection": lambda: GreedyGroups(CONNECTION),
        "node": lambda: GreedyGroups(NODE),
        "greedy": GreedyGroups,
        "contraction": ContractedGroups,
        "tree-dp": TreeGroups,
        "milp": OptimalGroups,
        "cp-sat": ConvexGroups,
        "planner": PlannedGroups,
    }
)
"""What each method is called; `connection` and `node` weigh as the paper does, whatever the costs
of a problem."""


def group_operators(problem: Problem, method: str | None = None, **options: object) -> Solution:
    """Group the operators of a problem."""
    if method is None:
        method = "greedy" if problem.mode == "streaming" else "contraction"
    return METHODS[method](**options).solve(problem)
