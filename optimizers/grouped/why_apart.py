"""Why steps that can share a pod with some others share one with none, or not with these."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from couler.ir.wording import counted, few_text
from couler.optimizers.grouped.scope_problem import ScopeProblem

__all__ = ["Finds", "why_alone", "why_apart"]

Finds: t.TypeAlias = Callable[[ScopeProblem, bool], Collection[str]]
"""Returns the steps that are in groups for a problem, and if failures must be kept."""

_TRIED = 200
"""Up to so many steps it is tried what other options would put together."""

_NAMED = 3
"""How many pairs of steps are named."""


def why_apart(given: ScopeProblem, finds: Finds) -> str | None:
    """Return why no steps of a scope are put together, None if each cannot share a pod at all."""
    problem = given.problem
    if len(problem.operators) < 2:
        return None
    if len(problem.operators) <= _TRIED:
        if problem.costs.per_lost_s and finds(_lossless(given), True):
            return (
                "In one pod steps would run in turn, or wait for others, and the run would take "
                "longer than the pods are worth; per_lost_s=0 does not count that"
            )
        if finds(given, False):
            return (
                "Runs in which something fails would come to something else; failures=whole "
                "accepts it"
            )
    pairs = list(_pairs(given))
    if pairs:
        more = f"; and {counted(len(pairs) - _NAMED, 'pair')} more" if pairs[_NAMED:] else ""
        return f"{'; '.join(pairs[:_NAMED])}{more}"
    return f"Of {counted(len(problem.operators), 'step')} that can share a pod, no groups cost less"


def why_alone(given: ScopeProblem, inside: Collection[str], finds: Finds) -> Iterator[str]:
    """Yield why steps that could share a pod are in no group, where others are."""
    problem = given.problem
    alone = [one.name for one in problem.operators if one.name not in inside]
    if not alone or len(problem.operators) > _TRIED:
        return
    others = set(finds(given, False))
    if kept := [name for name in alone if name in others]:
        yield (
            f"{_are(kept)} in no group, as runs in which something fails would come to something "
            "else; failures=whole accepts it"
        )
    rest = [name for name in alone if name not in others]
    if not rest or not problem.costs.per_lost_s:
        return
    others = set(finds(_lossless(given), True))
    if kept := [name for name in rest if name in others]:
        yield (
            f"{_are(kept)} in no group, as the run may take longer than the pods are worth; "
            "per_lost_s=0 does not count that"
        )


def _are(names: Sequence[str]) -> str:
    return f"{few_text(names)} {'is' if len(names) == 1 else 'are'}"


def _lossless(given: ScopeProblem) -> ScopeProblem:
    """Return the problem of a scope in which nothing is lost if less runs side by side."""
    problem = given.problem
    return replace(given, problem=replace(problem, costs=replace(problem.costs, per_lost_s=0.0)))


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
