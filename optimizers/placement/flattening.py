"""The steps of a workflow that run something, with what they wait for, whatever groups are around.

Each item of a foreach is a task of its own, up to 64 of a step; where there are more, each stands
for several. A loop counts as one round, and a foreach of a number of items that is not known before
the run as one item. A step inside of groups that are foreachs has as many tasks as items of all of
them together.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.ir.ranges import known_items
from couler.ir.values import StepRef, Value
from couler.ir.walk import Scope, predecessors, references, scopes
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.durations import item_counts

__all__ = ["MOST_COPIES", "FlatStep", "Link", "flatten"]

MOST_COPIES = 64
"""So many tasks stand for a step at most."""


@dataclass(frozen=True, slots=True)
class FlatStep:
    """A step that runs something.

    Attributes
    ----------
    path
        Where it is.
    step
        The step.
    copies
        How many tasks stand for it.
    items
        How many items each of them stands for, on the mean.
    """

    path: str
    step: Step
    copies: int = 1
    items: float = 1.0


class Link(t.NamedTuple):
    """One step waits for another.

    Attributes
    ----------
    before, after
        Their paths.
    reads
        Whether it reads what the other one made.
    is_aligned
        Each task waits for the one of the same number, and not for all.
    """

    before: str
    after: str
    reads: bool
    is_aligned: bool


def flatten(workflow: Workflow) -> tuple[list[FlatStep], list[Link]]:
    """Return the steps that run something, pauses left out, and what they wait for.

    Parameters
    ----------
    workflow
        Verified, and without defaults. Hooks and exit handlers wait for nothing here.

    Notes
    -----
    Where a group waits for another, each step inside that waits for nothing else waits for each
    step of the other that nothing inside waits for. What a pause is waited for is left out: its
    readers wait for what it waits for. O(n + m) for n steps and m links, of which there are
    as many as pairs of such steps.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> step = lambda name, *after, **more: Step(name=name, depends_on=after, **{
    ...     "action": Container(image="busybox"), **more})
    >>> inner = Group(steps=(step("a"), step("b", "a")))
    >>> flat, links = flatten(Workflow(name="w", steps=(
    ...     step("load"), step("fit", "load", action=inner), step("report", "fit"))))
    >>> [one.path for one in flat]
    ['load', 'fit/a', 'fit/b', 'report']
    >>> [(link.before, link.after) for link in links]
    [('fit/a', 'fit/b'), ('load', 'fit/a'), ('fit/b', 'report')]
    """
    found = _Flattening()
    for scope in scopes(workflow):
        if scope.owner is None:
            found.add_scope(scope, 1.0)
    return found.steps, found.links


class _Ends(t.NamedTuple):
    """The steps inside of a scope that wait for nothing there, and that nothing there waits for."""

    first: tuple[str, ...]
    last: tuple[str, ...]


class _Flattening:
    """The state of `flatten`."""

    def __init__(self) -> None:
        self.steps: list[FlatStep] = []
        self.links: list[Link] = []
        self._copies: dict[str, int] = {}

    def add_scope(self, scope: Scope, around: float) -> _Ends:
        """Add the steps of a scope of which there are so many, and return its ends."""
        counts = item_counts(scope.steps)
        ends: dict[str, _Ends] = {}
        for step in scope.steps:
            count = around * max(1, counts.get(step.name, 1))
            path = scope.path_of(step)
            if isinstance(step.action, Group):
                inner = Scope((*scope.path, step.name), step.action.steps, step, scope.handler)
                ends[step.name] = self.add_scope(inner, count)
            elif isinstance(step.action, Suspend):
                ends[step.name] = _Ends((), ())
            else:
                copies = max(1, min(MOST_COPIES, round(count)))
                self.steps.append(FlatStep(path, step, copies, count / copies))
                self._copies[path] = copies
                ends[step.name] = _Ends((path,), (path,))
        return self._link(scope.steps, ends)

    def _link(self, steps: Sequence[Step], ends: Mapping[str, _Ends]) -> _Ends:
        """Add the links of a scope, in which steps come in any order."""
        by_name = {step.name: step for step in steps}
        read_by = {step.name: {one.step for one in references(step)} for step in steps}
        waits = {
            step.name: tuple(name for name in predecessors(step) if name in by_name)
            for step in steps
        }
        befores = {step.name: tuple(_resolved(step.name, waits, ends)) for step in steps}
        waited = {name for names in befores.values() for name in names}
        for step in steps:
            aligned = _zipped(step)
            for name in befores[step.name]:
                for before in ends[name].last:
                    for after in ends[step.name].first:
                        same = self._copies[before] == self._copies[after]
                        is_inner = _around(before) == _around(after) != ""
                        is_aligned = same and (name in aligned or (is_inner and _is_plain(step)))
                        reads = name in read_by[step.name]
                        self.links.append(Link(before, after, reads, is_aligned))
        first = [path for step in steps if not befores[step.name] for path in ends[step.name].first]
        last = [path for step in steps if step.name not in waited for path in ends[step.name].last]
        return _Ends(tuple(first), tuple(last))


def _resolved(
    name: str, waits: Mapping[str, Sequence[str]], ends: Mapping[str, _Ends]
) -> Iterator[str]:
    """Yield the steps that run something for which a step waits, through pauses."""
    seen: set[str] = set()
    stack = list(reversed(waits[name]))
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if ends[one].last:
            yield one
        else:
            stack += reversed(waits[one])


def _zipped(step: Step) -> set[str]:
    """Return the foreachs of whose outputs each item reads that of its own number."""
    over: Mapping[str, Value] = {} if step.foreach is None else step.foreach.over
    return {
        value.step
        for value in over.values()
        if isinstance(value, StepRef) and known_items(value) is None
    }


def _around(path: str) -> str:
    return path.rpartition("/")[0]


def _is_plain(step: Step) -> bool:
    return step.foreach is None
