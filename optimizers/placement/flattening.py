"""The steps of a workflow that run something, with what they wait for, across groups."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from couler.ir.policies import Mutex, lock_identity, locks_of
from couler.ir.ranges import known_items
from couler.ir.values import StepRef, Value
from couler.ir.walk import Scope, predecessors, references, scopes
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.durations import item_counts, turns_of
from couler.optimizers.partitioning.circles import topological_order

MOST_COPIES = 64
"""So many tasks stand for a step at most, where nothing is said of what could run at once."""

_FEW = 64
"""Up to so many pairs of tasks are linked each with each, without a join."""


class Level(t.NamedTuple):
    """A foreach around a step, or its own."""

    items: int
    turns: int
    lag: int | None
    is_group: bool


@dataclass(frozen=True, slots=True)
class FlatStep:
    """A step that runs something."""

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
    """Tasks of no length, for which others wait in place of all that these wait for."""

    path: str
    copies: int
    output_bytes: float


class Link(t.NamedTuple):
    """One step or join waits for another."""

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
    """A workflow without its groups."""

    steps: list[FlatStep]
    joins: list[Join]
    links: list[Link]
    limits: list[Limit]


def flatten(workflow: Workflow, most_copies: Callable[[Step], int] | None = None) -> Flat:
    """Return the steps that run something, pauses left out, and what they wait for."""
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
        """Add the steps of a scope, and return its ends."""
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
        """Return what runs something for which each step waits, through pauses."""
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
