"""What the pass `group` says of what it did."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from couler.ir.walk import Scope
from couler.ir.wording import counted, few_text
from couler.ir.workflow import Group, Step
from couler.optimizers.base import PassContext
from couler.optimizers.estimate import Figure
from couler.optimizers.grouped.choosing import Choice
from couler.optimizers.grouped.scope_problem import ScopeProblem
from couler.optimizers.grouped.scope_rewrite import ScopeRewrite

_LISTED = 5
"""How many groups, steps of a group and steps that are left alone a reason names."""


class Report:
    """Says what was done and why."""

    def __init__(self, context: PassContext) -> None:
        self.context = context
        self.made: list[str] = []
        self.left: list[str] = []
        self.alone = 0
        self.before = self.after = 0.0
        self.bounds: list[float | None] = []
        self.inside = 0
        self.lone: list[str] = []

    def refuse(self, scope: Scope, given: ScopeProblem) -> None:
        """Tell of the steps of a scope that cannot share a pod."""
        for step in scope.steps:
            why = given.refused.get(step.name)
            # What is inside of a group has been looked at by itself.
            if why is not None and not isinstance(step.action, Group):
                path = scope.path_of(step)
                self.context.explain(f"It is in no group: {why}.", step=path)
                self.left.append(f"{path} ({why})")

    def leave_alone(self, choice: Choice, given: ScopeProblem) -> None:
        """Tell why steps that could share a pod are in no group."""
        names = [one.name for one in given.problem.operators]
        unsafe = [name for name in names if name in choice.unsafe]
        rest = [name for name in names if name not in choice.unsafe | choice.members]
        if unsafe:
            self.lone.append(
                f"{_are(unsafe)} in no group, as runs in which something fails would come to "
                "something else; failures=whole accepts it"
            )
        if rest and (choice.groups or unsafe):
            self.lone.append(
                f"{_are(rest)} in no group, as none with them costs less; per_lost_s=0 does not "
                "count what runs later"
            )
        elif rest:
            count = counted(len(names), "step")
            told = list(_pairs(given)) or [f"Of {count} that can share a pod, no groups cost less"]
            self.lone += told[:_LISTED]

    def chose(
        self, scope: Scope, choice: Choice, rewrite: ScopeRewrite, given: ScopeProblem
    ) -> None:
        """Tell of the groups of a scope."""
        self.before += choice.before
        self.after += choice.after
        self.bounds.append(choice.bound)
        costs = given.problem.costs
        by_name = {step.name: step for step in scope.steps}
        after: dict[str, list[str]] = {}
        for edge in given.problem.edges:
            after.setdefault(edge.before, []).append(edge.after)
        for (image, members), made in zip(choice.groups, rewrite.made, strict=True):
            path = scope.path_of(made)
            sources = [scope.path_of(by_name[name]) for name in members]
            self.context.derive(path, sources)
            inside = set(members)
            within = sum(one in inside for name in members for one in after.get(name, ()))
            pods = len(members) - 1
            self.context.explain(
                f"{_first_of(members)} run in one pod of {image}: {counted(pods, 'pod')} less at "
                f"{costs.group:g}, and {counted(within, 'edge')} within it at {costs.intra:g} in "
                f"place of {costs.inter:g}.{_known(members, by_name)}",
                step=path,
            )
            self.inside += len(members)
            self.made.append(f"{path} of {len(members)}")

    def finish(self, costs: str, times: tuple[Figure, Figure], *, keeps_failures: bool) -> None:
        """Tell of all together, and how long the critical path is before and after."""
        if self.made:
            self.context.explain(
                f"{self.inside:,} steps run in {counted(len(self.made), 'pod')}: "
                f"{_first_of(self.made)}."
            )
            bound = sum(one or 0.0 for one in self.bounds)
            known = f"; no grouping costs less than {bound:g}" if None not in self.bounds else ""
            self.context.explain(
                f"By the costs {costs} that is {self.after:g} in place of {self.before:g}{known}."
            )
        else:
            self.context.explain("No steps are put together.")
        if self.made and all(one.is_whole for one in times):
            before, after = (f"{one.value or 0.0:,.1f} s" for one in times)
            self.context.explain(f"The critical path is {after}, and was {before}.")
        for why in self.lone[:_LISTED]:
            self.context.explain(f"{why}.")
        if self.left:
            more = f"; and {len(self.left) - _LISTED:,} more" if len(self.left) > _LISTED else ""
            self.context.explain(
                f"Steps that cannot share a pod: {'; '.join(self.left[:_LISTED])}{more}."
            )
        if self.made and not keeps_failures:
            self.context.explain(
                "If a step of a group fails, what waits for another one of it is omitted, too."
            )


def _known(members: Sequence[str], by_name: Mapping[str, Step]) -> str:
    """Return of how many steps the seconds are those of a group, if not of all or none."""
    profiles = [by_name[name].profile for name in members]
    known = sum(one is not None and one.seconds is not None for one in profiles)
    if known in (0, len(members)):
        return ""
    return f" Its seconds are those of {known:,} of {counted(len(members), 'step')}."


def _first_of(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _are(names: Sequence[str]) -> str:
    return f"{few_text(names)} {'is' if len(names) == 1 else 'are'}"


def _pairs(given: ScopeProblem) -> Iterator[str]:
    """Yield steps that read from each other, or else come after each other, and cannot share."""
    problem = given.problem
    names = [one.name for one in problem.operators]
    edges = [(names[before], names[after]) for before, after, _ in problem.pairs]
    for one, other in edges or itertools.pairwise(names):
        if not problem.masks[problem.index[one]] & problem.masks[problem.index[other]]:
            mine, theirs = given.keys[one], given.keys[other]
            unlike = [what for what, value in mine.items() if theirs.get(what) != value]
            differ = ", ".join(unlike) or "image"
            yield f"{one} and {other} cannot share a pod: they differ in {differ}"
