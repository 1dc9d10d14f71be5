"""Why steps that can share a pod with some others share one with none."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

from couler.ir.wording import counted
from couler.optimizers.grouped.scope_problem import ScopeProblem

__all__ = ["why_apart"]

_TRIED = 200
"""Up to so many steps it is tried what other options would put together."""

_NAMED = 3
"""How many pairs of steps are named."""


def why_apart(given: ScopeProblem, finds: Callable[[ScopeProblem, bool], bool]) -> str | None:
    """Return why no steps of a scope are put together, None if each cannot share a pod at all.

    Parameters
    ----------
    given
        The problem of the scope.
    finds
        Returns whether there are groups for a problem, and if failures need not be kept.
    """
    problem = given.problem
    if len(problem.operators) < 2:
        return None
    if len(problem.operators) <= _TRIED:
        lossless = replace(
            given, problem=replace(problem, costs=replace(problem.costs, per_lost_s=0.0))
        )
        if problem.costs.per_lost_s and finds(lossless, True):
            return (
                "In one pod steps would run in turn, or wait for others, and the run would take "
                "longer than the pods are worth; per_lost_s=0 does not count that"
            )
        if finds(given, False):
            return "Runs in which something fails would come to something else; failures=whole does"
    pairs = list(_pairs(given))
    if pairs:
        more = f"; and {counted(len(pairs) - _NAMED, 'pair')} more" if pairs[_NAMED:] else ""
        return f"{'; '.join(pairs[:_NAMED])}{more}"
    return f"Of {counted(len(problem.operators), 'step')} that can share a pod, no groups cost less"


def _pairs(given: ScopeProblem) -> Iterator[str]:
    """Yield steps that read from each other, or else come after each other, and cannot share."""
    problem = given.problem
    names = [one.name for one in problem.operators]
    edges = [(names[before], names[after]) for before, after, _ in problem.pairs]
    for one, other in edges or itertools.pairwise(names):
        if problem.masks[problem.index[one]] & problem.masks[problem.index[other]]:
            continue
        mine, theirs = given.keys[one], given.keys[other]
        unlike = [what for what, value in mine.items() if theirs.get(what) != value]
        yield f"{one} and {other} cannot share a pod: they differ in {', '.join(unlike) or 'image'}"
