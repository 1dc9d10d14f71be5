"""The steps of a workflow that run something, with what they wait for, whatever groups are around.

Each item of a foreach is a task of its own, up to a number of tasks for a step; where there are
more items, each task stands for several, which it runs one after another. A loop counts as one
round, and a foreach of a number of items that is not known before the run as one item. A step
inside of groups that are foreachs has as many tasks as items of all of them together, those of one
item of the outer group side by side.

What limits how many tasks run at once:

* `max_parallel` of a foreach: item i waits for item i - `max_parallel`, of a group as a whole.
  Inside of a foreach the limits of all its items that can run at once are added up.
* `max_parallel` of the workflow counts the tasks of all steps, that of a group those of the steps
  that lie in it directly; inside of a foreach it is added up as above. Steps of one mutex run one
  at a time. Which one goes first is decided before the run (`parallelism.lane_edges`), so that all
  may end later than where whatever is ready goes next.
* A foreach of groups with a mutex runs item by item.

What is not looked at: semaphores, whose limits the engine knows alone; the mutex of a group against
other steps; locks of the workflow; limits of exit handlers and hooks.
"""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from couler.ir.locks import Mutex, lock_identity, locks_of
from couler.ir.ranges import known_items
from couler.ir.values import StepRef, Value
from couler.ir.walk import Scope, predecessors, references, scopes
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.durations import item_counts, turns_of
from couler.optimizers.partitioning.circles import topological_order

__all__ = ["MOST_COPIES", "Flat", "FlatStep", "Join", "Level", "Limit", "Link", "flatten"]

MOST_COPIES = 64
"""So many tasks stand for a step at most, where nothing is said of what could run at once."""

_FEW = 64
"""Up to so many pairs of tasks are linked each with each, without a join."""


class Level(t.NamedTuple):
    """A foreach around a step, or its own.

    Attributes
    ----------
    items
        How many items it has, at least 1.
    turns
        How often as many items as its `max_parallel` lets run at once are run.
    lag
        Each of its items, those of all that is around it counted through, waits for the item of so
        many less; None where they wait for none.
    is_group
        Whether it is one of groups.
    """

    items: int
    turns: int
    lag: int | None
    is_group: bool


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
    levels
        The foreachs around it, the outermost first, and its own, if it is one.
    """

    path: str
    step: Step
    copies: int = 1
    items: float = 1.0
    levels: tuple[Level, ...] = ()

    @property
    def output_bytes(self) -> float:
        """What each task makes, as far as that is known."""
        known = None if self.step.profile is None else self.step.profile.output_bytes
        return (known or 0) * self.items


@dataclass(frozen=True, slots=True)
class Join:
    """Tasks of no length, for which others wait in place of all that these wait for.

    Attributes
    ----------
    path
        A name that no step has.
    copies
        How many tasks.
    output_bytes
        What each hands on of what it reads.
    """

    path: str
    copies: int
    output_bytes: float


class Link(t.NamedTuple):
    """One step or join waits for another.

    Attributes
    ----------
    before, after
        Their paths.
    reads
        Whether it reads what the other one made.
    blocks
        The tasks of both are cut into so many blocks of equal length, at most as many as either
        has tasks. Each task waits for the other's tasks of the block of the same number: for all
        where there is one block, for one where there are as many blocks as tasks.
    lag
        It is not the block of the same number, but of one less by this.
    """

    before: str
    after: str
    reads: bool
    blocks: int = 1
    lag: int = 0


class Limit(t.NamedTuple):
    """Of the tasks of some steps, so many can run at once."""

    paths: tuple[str, ...]
    width: int


class Flat(t.NamedTuple):
    """A workflow without its groups.

    Attributes
    ----------
    steps
        What runs something, in the order of the workflow.
    joins
        What is waited for in place of many.
    links
        What waits for what.
    limits
        What cannot run at once.
    """

    steps: list[FlatStep]
    joins: list[Join]
    links: list[Link]
    limits: list[Limit]


def flatten(workflow: Workflow, most_copies: Callable[[Step], int] | None = None) -> Flat:
    """Return the steps that run something, pauses left out, and what they wait for.

    Parameters
    ----------
    workflow
        Verified, and without defaults. Hooks and exit handlers wait for nothing here.
    most_copies
        How many tasks may stand for a step; `MOST_COPIES` if it is None.

    Notes
    -----
    Where a group waits for another, each step inside that waits for nothing else waits for each
    step of the other that nothing inside waits for. What a pause is waited for is left out: its
    readers wait for what it waits for. Where that would be more than 64 pairs of tasks, and more
    than there are tasks, all of the one side are waited for by a join, and the join by the others.
    What is read is read by the join and from the join, so that data may be moved twice.

    O(c + m) for c tasks and m edges of the workflow, and so are the pairs of tasks that are linked.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> step = lambda name, *after, **more: Step(name=name, depends_on=after, **{
    ...     "action": Container(image="busybox"), **more})
    >>> inner = Group(steps=(step("a"), step("b", "a")))
    >>> flat = flatten(Workflow(name="w", steps=(
    ...     step("load"), step("fit", "load", action=inner), step("report", "fit"))))
    >>> [one.path for one in flat.steps]
    ['load', 'fit/a', 'fit/b', 'report']
    >>> [(link.before, link.after) for link in flat.links]
    [('fit/a', 'fit/b'), ('load', 'fit/a'), ('fit/b', 'report')]
    """
    found = _Flattening(most_copies or (lambda _: MOST_COPIES))
    for number, scope in enumerate(scopes(workflow)):
        if scope.owner is None:
            found.add_scope(scope, 1.0, 1, ())
        if number == 0 and workflow.max_parallel is not None:
            found.limit([one.path for one in found.flat.steps], workflow.max_parallel)
    for paths in found.holders.values():
        found.limit(paths, 1)
    return found.flat


class _Ends(t.NamedTuple):
    """The steps inside of a scope that wait for nothing there, and that nothing there waits for."""

    first: tuple[str, ...]
    last: tuple[str, ...]


class _Side(t.NamedTuple):
    """One side of links: how many tasks, and how many of the step that has most."""

    tasks: int
    finest: int


class _Flattening:
    """The state of `flatten`."""

    def __init__(self, most_copies: Callable[[Step], int]) -> None:
        self.flat = Flat([], [], [], [])
        self.holders: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        """The steps that hold each mutex."""
        self._most_copies = most_copies
        self._copies: dict[str, int] = {}
        self._output_bytes: dict[str, float] = {}
        """What all tasks of a step or join make."""

    def add_scope(self, scope: Scope, around: float, wide: int, levels: tuple[Level, ...]) -> _Ends:
        """Add the steps of a scope, and return its ends.

        There are so many of it all around, of which so many can run at once, by foreachs.
        """
        counts = item_counts(scope.steps)
        ends: dict[str, _Ends] = {}
        for step in scope.steps:
            items = max(1, counts.get(step.name, 1))
            width, is_locked = _at_once(step, items)
            at_once = 1 if is_locked else wide * width
            is_limited = is_locked or width < items
            count = around * items
            lag = at_once if is_limited and at_once < round(count) else None
            inside = levels
            if items > 1:
                turns, is_group = turns_of(step, items)[0], isinstance(step.action, Group)
                inside = (*levels, Level(items, turns, lag, is_group))
            if isinstance(step.action, Group):
                inner = self._add_group(scope, step, step.action, count, at_once, inside)
                if lag is not None:
                    before = [(path, False) for path in inner.last]
                    where = scope.path_of(step)
                    self._connect(before, inner.first, count, where, "items", lag=lag)
                ends[step.name] = inner
            elif isinstance(step.action, Suspend):
                ends[step.name] = _Ends((), ())
            else:
                path = self._add_step(scope, step, count, lag, inside)
                ends[step.name] = _Ends((path,), (path,))
        return self._link(scope, ends, around, counts)

    def limit(self, paths: Sequence[str], width: int) -> None:
        """Let so many tasks of some steps run at once."""
        if sum(self._copies[path] for path in paths) > width:
            self.flat.limits.append(Limit(tuple(paths), width))

    def _add_group(
        self,
        scope: Scope,
        step: Step,
        action: Group,
        count: float,
        at_once: int,
        levels: tuple[Level, ...],
    ) -> _Ends:
        inner = Scope((*scope.path, step.name), action.steps, step, scope.handler)
        ends = self.add_scope(inner, count, at_once, levels)
        if step.max_parallel is not None:
            there = [path for path in map(inner.path_of, inner.steps) if path in self._copies]
            self.limit(there, step.max_parallel * at_once)
        return ends

    def _add_step(
        self,
        scope: Scope,
        step: Step,
        count: float,
        at_once: int | None,
        levels: tuple[Level, ...],
    ) -> str:
        path = scope.path_of(step)
        most = self._most_copies(step) if count > MOST_COPIES else MOST_COPIES
        if at_once is not None and at_once < most < count:
            most -= most % at_once  # so that the last turn is as full as the others
        copies = max(1, min(most, round(count)))
        one = FlatStep(path, step, copies, count / copies, levels)
        self.flat.steps.append(one)
        self._copies[path] = copies
        self._output_bytes[path] = one.output_bytes * copies
        for lock in locks_of(step):
            if isinstance(lock, Mutex):
                self.holders[lock_identity(lock)].append(path)
        if at_once is not None and at_once < copies:
            self.flat.links.append(Link(path, path, reads=False, blocks=copies, lag=at_once))
        return path

    def _link(
        self, scope: Scope, ends: dict[str, _Ends], around: float, counts: Mapping[str, int]
    ) -> _Ends:
        """Add the links of a scope, in which steps come in any order."""
        befores = self._through_pauses(scope, ends)
        steps = {step.name: step for step in scope.steps if ends[step.name].first}
        waiting: defaultdict[tuple[str, float], list[tuple[str, bool]]] = defaultdict(list)
        """Who waits for each step in so many blocks, and whether it reads it."""
        for name, step in steps.items():
            read = {one.step for one in references(step)}
            aligned = _zipped(step)
            for before in befores[name]:
                own = counts.get(name, 1) if before in aligned else 1
                waiting[before, around * max(1, own)].append((name, before in read))
        sides = {name: self._side(ends[name].first) for name in steps}
        sources: defaultdict[tuple[str, float], list[tuple[str, bool]]] = defaultdict(list)
        for (before, blocks), readers in waiting.items():
            last = ends[before].last
            after = _Side(
                sum(sides[name].tasks for name, _ in readers),
                max(sides[name].finest for name, _ in readers),
            )
            if _are_many(self._side(last), after, blocks):
                is_read = any(reads for _, reads in readers)
                some = [(path, is_read) for path in last]
                last = (self._joined(some, blocks, scope.path_of(steps[before]), "end"),)
            for name, reads in readers:
                sources[name, blocks] += [(path, reads) for path in last]
        for (name, blocks), some in sources.items():
            self._connect(some, ends[name].first, blocks, scope.path_of(steps[name]), "start")
        waited = {before for name in steps for before in befores[name]}
        first = [path for name in steps if not befores[name] for path in ends[name].first]
        last = tuple(path for name in steps if name not in waited for path in ends[name].last)
        return _Ends(tuple(first), last)

    def _through_pauses(
        self, scope: Scope, ends: dict[str, _Ends]
    ) -> Mapping[str, Mapping[str, None]]:
        """Return what runs something for which each step waits, through pauses.

        A pause between many and many is a join.
        """
        names = [step.name for step in scope.steps]
        places = {name: place for place, name in enumerate(names)}
        waits = [
            [places[name] for name in predecessors(step) if name in places] for step in scope.steps
        ]
        waiting = [0] * len(names)
        for some in waits:
            for place in some:
                waiting[place] += 1
        befores: dict[str, Mapping[str, None]] = {}
        for place in topological_order([set(some) for some in waits]):
            name = names[place]
            found: dict[str, None] = {}
            for before in (names[one] for one in waits[place]):
                found.update({before: None} if ends[before].last else befores[before])
            befores[name] = found
            if not ends[name].last and _are_many(_Side(len(found), 1), _Side(waiting[place], 1), 1):
                path = self._join(scope.path_of(scope.steps[place]), "pause", 1, 0.0)
                ends[name] = _Ends((path,), (path,))
        return befores

    def _connect(
        self,
        sources: Sequence[tuple[str, bool]],
        targets: Sequence[str],
        blocks: float,
        path: str,
        what: str,
        *,
        lag: int = 0,
    ) -> None:
        """Let some wait for others, which they read or not, through a join if they are many."""
        before = self._side([one for one, _ in sources])
        if _are_many(before, self._side(targets), blocks):
            is_read = any(reads for _, reads in sources)
            sources = [(self._joined(sources, blocks, path, what), is_read)]
        for one, reads in sources:
            for target in targets:
                self._add_link(one, target, reads, blocks, lag)

    def _joined(
        self, sources: Sequence[tuple[str, bool]], blocks: float, path: str, what: str
    ) -> str:
        """Add a join of some, and return its path."""
        finest = self._side(one for one, _ in sources).finest
        copies = max(1, min(round(blocks), finest))
        read = sum(self._output_bytes[one] for one, is_read in sources if is_read)
        join = self._join(path, what, copies, read)
        for before, reads in sources:
            self._add_link(before, join, reads, blocks, 0)
        return join

    def _join(self, path: str, what: str, copies: int, read: float) -> str:
        name = f"{path} ({what})"
        if name in self._copies:
            name = f"{path} ({what} of {copies})"
        self.flat.joins.append(Join(name, copies, read / copies))
        self._copies[name] = copies
        self._output_bytes[name] = read
        return name

    def _add_link(self, before: str, after: str, reads: bool, blocks: float, lag: int) -> None:
        count = max(1, min(self._copies[before], self._copies[after], round(blocks)))
        if lag < count:
            self.flat.links.append(Link(before, after, reads, count, lag))

    def _side(self, paths: Iterable[str]) -> _Side:
        copies = [self._copies[path] for path in paths]
        return _Side(sum(copies), max(copies, default=1))


def _are_many(before: _Side, after: _Side, blocks: float) -> bool:
    """Return whether pairs of tasks, in so many blocks, are many more than the tasks."""
    count = max(1.0, min(blocks, before.finest, after.finest))
    return before.tasks * after.tasks > count * max(before.tasks + after.tasks, _FEW)


def _at_once(step: Step, items: int) -> tuple[int, bool]:
    """Return how many items of a step can run at once, and whether a mutex says that it is one."""
    if isinstance(step.action, Group) and any(isinstance(one, Mutex) for one in locks_of(step)):
        return 1, True
    most = None if step.foreach is None else step.foreach.max_parallel
    return items if most is None else min(items, most), False


def _zipped(step: Step) -> set[str]:
    """Return the foreachs of whose outputs each item reads that of its own number."""
    over: Mapping[str, Value] = {} if step.foreach is None else step.foreach.over
    return {
        value.step
        for value in over.values()
        if isinstance(value, StepRef) and known_items(value) is None
    }
