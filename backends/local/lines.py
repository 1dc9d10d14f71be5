"""Requests that wait, kept so that the next to start is found without a look at all of them."""

from __future__ import annotations

import heapq
import itertools
import typing as t
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from couler.backends.local.capacity import Need
from couler.backends.local.demand import Lane, Request, Shape
from couler.backends.local.limits import Limits
from couler.backends.local.locks import Hold

PATIENCE = 16
"""How many requests may start before one that is more important but has no room."""

Rank: t.TypeAlias = tuple[float, int]
"""Orders requests, by priority and then by age; no two are equal, and the least is first."""


class _Entered:
    """What stands in the heap of a branch: its entry has this number and this rank."""

    __slots__ = ("entry", "entry_rank")

    def __init__(self) -> None:
        self.entry: int | None = None
        self.entry_rank: Rank = (0.0, 0)


class Line(_Entered):
    """The requests of one shape."""

    __slots__ = ("branch", "lanes", "requests", "shape", "tree")

    def __init__(self, shape: Shape, lanes: tuple[Lane, ...]) -> None:
        super().__init__()
        self.shape = shape
        self.lanes = lanes
        self.requests: list[tuple[Rank, Request]] = []
        self.tree: Branch | None = None
        self.branch: Branch | None = None

    @property
    def rank(self) -> Rank:
        """Rank of the first request of the line."""
        return self.requests[0][0]

    @property
    def request(self) -> Request:
        """The first request of the line."""
        return self.requests[0][1]

    def first(self) -> Line:
        """Return itself, as a branch returns the first line in it."""
        return self

    def leave(self) -> None:
        """Leave the tree that it is in."""
        branch, self.tree, self.branch, self.entry = self.branch, None, None, None
        while branch is not None:
            branch.lose_line()
            branch = branch.outer


class Branch(_Entered):
    """The lines of a tree that go through a lane; without a lane, the whole tree."""

    __slots__ = ("_entries", "_heap", "_inside", "_lane", "outer", "size")

    def __init__(
        self, entries: Iterator[int], lane: Lane | None = None, outer: Branch | None = None
    ) -> None:
        super().__init__()
        self._entries = entries
        self._lane = lane
        self._inside: dict[Lane, Branch] = {}
        self._heap: list[tuple[Rank, int, Line | Branch]] = []
        self.outer = outer
        self.size = 0
        """How many lines it has."""

    def first(self) -> Line | None:
        """Return the first line whose lanes all have room."""
        if self._lane is not None and self._lane.free <= 0:
            self._lane.on_free(self._enter_again)
            return None
        heap = self._heap
        while heap:
            rank, entry, inner = heap[0]
            if inner.entry != entry:
                heapq.heappop(heap)
                continue
            line = inner.first()
            if line is None:  # it enters again when there is something
                inner.entry = None
                heapq.heappop(heap)
            elif line.rank == rank:
                return line
            else:
                inner.entry_rank = line.rank
                heapq.heapreplace(heap, (line.rank, entry, inner))
        return None

    def place(self, line: Line) -> None:
        """Have a line in this tree, where its first request belongs."""
        branch = line.branch
        if branch is None or line.tree is not self:
            line.leave()
            branch = self._take_in(line)
        branch.enter(line, line.rank)

    def lose_line(self) -> None:
        """Forget that a line was in it."""
        self.size -= 1
        if not self.size and self.outer is not None and self._lane is not None:
            del self.outer._inside[self._lane]

    def enter(self, inner: Line | Branch, rank: Rank) -> None:
        """Take note that something in it has a request of this rank."""
        if inner.entry is not None and inner.entry_rank <= rank:
            return
        inner.entry, inner.entry_rank = next(self._entries), rank
        heapq.heappush(self._heap, (rank, inner.entry, inner))
        if self.outer is not None:
            self.outer.enter(self, rank)

    def _take_in(self, line: Line) -> Branch:
        branch = self
        branch.size += 1
        for lane in line.lanes:
            inner = branch._inside.get(lane)
            if inner is None:
                inner = branch._inside[lane] = Branch(self._entries, lane, branch)
            inner.size += 1
            branch = inner
        line.tree, line.branch = self, branch
        return branch

    def _enter_again(self) -> None:
        if self._heap and self.outer is not None:
            self.outer.enter(self, self._heap[0][0])


class Queue:
    """The lines of one need; those whose first has been passed over enough are in a tree apart."""

    __slots__ = ("_impatient", "_patient")

    def __init__(self) -> None:
        entries = itertools.count()
        self._patient = Branch(entries)
        self._impatient = Branch(entries)

    @property
    def is_empty(self) -> bool:
        """Whether no request waits."""
        return not (self._patient.size or self._impatient.size)

    def first(self) -> Line | None:
        """Return the first line whose lanes all have room."""
        return first_line((self._patient, self._impatient))

    def is_impatient(self, rank: Rank) -> bool:
        """Return whether nothing of this rank may be started before what waits here."""
        line = self._impatient.first()
        return line is not None and line.rank < rank

    def pass_over(self, rank: Rank) -> None:
        """Take note that a request is started before those that are more important."""
        passed = []
        while (line := self._patient.first()) is not None and line.rank < rank:
            line.entry = None  # so that the next one is first
            passed.append(line)
        for line in passed:
            line.request.passed_over += 1
            self.place(line)

    def place(self, line: Line) -> None:
        """Put a line where its first request belongs."""
        is_patient = line.request.passed_over < PATIENCE
        (self._patient if is_patient else self._impatient).place(line)


@dataclass(slots=True)
class _Together:
    """What waits under the same limits."""

    forget: Callable[[], None]
    lines: dict[Request, Line] = field(default_factory=dict)


class Lines:
    """All requests that wait for resources or locks."""

    def __init__(self, on_end: Callable[[Limits], None]) -> None:
        self._on_end = on_end
        self._lines: dict[Shape, Line] = {}
        self._queues: dict[Need, Queue] = {}
        self._by_limits: dict[Limits, _Together] = {}
        self._of_locks: dict[Hold, Lane] = {}
        self._ages = itertools.count()

    @property
    def queues(self) -> tuple[tuple[Need, Queue], ...]:
        """What waits, by need."""
        return tuple(self._queues.items())

    def lane_of(self, lock: Hold) -> Lane:
        """Return the lane of those that ask for a lock."""
        lane = self._of_locks.get(lock)
        if lane is None:
            lane = self._of_locks[lock] = Lane(lock.places)
        return lane

    def lanes_of(self, shape: Shape) -> tuple[Lane, ...]:
        """Return all lanes that requests of a shape go through."""
        if not shape.locks:
            return shape.lanes
        # Locks are outermost: many scopes share one, and few are in a scope.
        return (*map(self.lane_of, shape.locks), *shape.lanes)

    def add(self, request: Request) -> None:
        """Take a request in."""
        shape = request.shape
        line = self._lines.get(shape)
        if line is None:
            line = self._lines[shape] = Line(shape, self.lanes_of(shape))
            if shape.need not in self._queues:
                self._queues[shape.need] = Queue()
        limits = request.limits
        together = self._by_limits.get(limits)
        if together is None:
            forget = limits.on_end(partial(self._on_end, limits))
            together = self._by_limits[limits] = _Together(forget)
        together.lines[request] = line
        heapq.heappush(line.requests, ((-request.priority, next(self._ages)), request))
        self._settle(line)

    def start(self, line: Line) -> Request:
        """Take out the first request of a line."""
        _, request = heapq.heappop(line.requests)
        together = self._by_limits[request.limits]
        del together.lines[request]
        if not together.lines:
            together.forget()
            del self._by_limits[request.limits]
        self._settle(line)
        return request

    def give_up(self, limits: Limits) -> tuple[Request, ...]:
        """Take out the requests with these limits, and return them, the oldest first."""
        lines = self._by_limits.pop(limits).lines
        for request in lines:
            request.is_given_up = True
        for line in dict.fromkeys(lines.values()):
            self._settle(line)
        return tuple(lines)

    def _settle(self, line: Line) -> None:
        """Put a line right whose requests have changed."""
        while line.requests and line.request.is_given_up:
            heapq.heappop(line.requests)
        queue = self._queues[line.shape.need]
        if line.requests:
            queue.place(line)
            return
        line.leave()
        del self._lines[line.shape]
        if queue.is_empty:
            del self._queues[line.shape.need]


def first_line(places: Iterable[Branch | Queue]) -> Line | None:
    """Return the first of the lines in some places whose lanes all have room."""
    lines = (line for place in places if (line := place.first()) is not None)
    return min(lines, key=lambda line: line.rank, default=None)
