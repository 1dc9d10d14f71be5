"""Which of the steps that could run does run: jobs, processors, memory, GPUs, locks, bounds.

Model: a request waits until all that it asks for is free at the same time, and then takes it all.
Among the requests that fit, that of the highest priority starts, the oldest of several. A request
for which the machine has no room is passed over by smaller ones, but at most `PATIENCE` times;
then nothing starts before it, so that many small steps cannot keep a large one waiting for ever.
One that waits for a lock or a bound keeps nothing waiting: what runs meanwhile is not in its way.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from couler.backends.local.capacity import Capacity, Need
from couler.backends.local.limits import Limits
from couler.backends.local.locks import Hold, Locks

PATIENCE = 16
"""How many requests may start before one that is more important but has no room."""

_LOCK_POLL_S = 0.2


class Lane:
    """A bound on how many requests of a scope run at the same time (`max_parallel`)."""

    __slots__ = ("free",)

    def __init__(self, width: int) -> None:
        self.free = width


@dataclass(frozen=True, slots=True)
class Shape:
    """What requests of a kind ask for; those of one shape wait in one line."""

    need: Need
    lanes: tuple[Lane, ...] = ()
    locks: tuple[Hold, ...] = ()


@dataclass(slots=True, eq=False)
class Request:
    """Work that waits for its start.

    Attributes
    ----------
    shape
        What it takes.
    priority
        Greater is earlier; seconds of the longest path that hangs on it.
    limits
        At their end it is given up.
    start
        Called with the grant, or with None when it is given up.
    """

    shape: Shape
    priority: float
    limits: Limits
    start: Callable[[Grant | None], None]
    passed_over: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """What a request has been given, until it is released."""

    shape: Shape
    gpus: tuple[str, ...] = ()


_Line = list[tuple[float, int, Request]]


@dataclass(slots=True)
class Dispatcher:
    """Gives what a machine has to those who ask.

    Parameters
    ----------
    capacity
        What there is.
    locks
        The locks of steps, which other runs share.
    """

    capacity: Capacity
    locks: Locks
    _lines: dict[Shape, _Line] = field(default_factory=dict)
    _count: Iterator[int] = field(default_factory=itertools.count)
    _is_due: bool = False
    _is_closed: bool = False
    _elsewhere: set[Hold] = field(default_factory=set)
    """Locks that another run has had at the last look."""
    _look: asyncio.TimerHandle | None = None
    """The next look at these: nobody tells when another run is done with one."""
    _jobs: int = field(init=False)
    _cpus: float = field(init=False)
    _memory: int = field(init=False)
    _gpus: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._jobs, self._cpus = self.capacity.jobs, self.capacity.cpus
        self._memory, self._gpus = self.capacity.memory_bytes, list(self.capacity.gpus)

    def submit(self, request: Request) -> None:
        """Take a request in; it starts in a later turn of the event loop.

        One whose limits have ended is given up at once.
        """
        if request.limits.reached is not None:
            request.start(None)
            return
        line = self._lines.setdefault(request.shape, [])
        heapq.heappush(line, (-request.priority, next(self._count), request))
        self._wake()

    async def acquire(self, shape: Shape, priority: float, limits: Limits) -> Grant | None:
        """Wait for what a shape asks for; None if the limits end before."""
        granted: asyncio.Future[Grant | None] = asyncio.get_running_loop().create_future()
        request = Request(shape, priority, limits, granted.set_result)
        self.submit(request)
        forget = limits.on_end(self.give_up)
        try:
            return await granted
        finally:
            forget()

    def release(self, grant: Grant) -> None:
        """Take back what was given."""
        shape, need = grant.shape, grant.shape.need
        self._jobs += need.jobs
        self._cpus += need.cpus
        self._memory += need.memory_bytes
        self._gpus.extend(grant.gpus)
        for lane in shape.lanes:
            lane.free += 1
        for hold in shape.locks:
            self.locks.release(hold)
        self._wake()

    def give_up(self) -> None:
        """Give up the requests whose limits have ended."""
        given_up = []
        for shape, line in tuple(self._lines.items()):
            ended = [entry for entry in line if entry[2].limits.reached is not None]
            if not ended:
                continue
            kept = [entry for entry in line if entry[2].limits.reached is None]
            heapq.heapify(kept)
            if kept:
                self._lines[shape] = kept
            else:
                del self._lines[shape]
            given_up += ended
        for _, _, request in sorted(given_up, key=lambda entry: entry[1]):
            request.start(None)

    def close(self) -> None:
        """Start nothing any more."""
        self._is_closed = True
        if self._look is not None:
            self._look.cancel()

    def _wake(self) -> None:
        if not (self._is_due or self._is_closed):
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._start_all)

    def _start_all(self) -> None:
        self._is_due = False
        while not self._is_closed and (request := self._choose()) is not None:
            request.start(self._take(request))

    def _choose(self) -> Request | None:
        """Take the next request out of its line, None if none can start now."""
        heads = sorted((line[0], shape) for shape, line in self._lines.items())  # no two are equal
        before: list[Request] = []
        for (_, _, request), shape in heads:
            if _is_bounded(shape) or any(map(self._is_locked, shape.locks)):
                continue
            if not self._has_room(shape.need):
                if request.passed_over >= PATIENCE:
                    return None
                before.append(request)
            elif self._take_locks(shape.locks):
                for other in before:
                    other.passed_over += 1
                line = self._lines[shape]
                heapq.heappop(line)
                if not line:
                    del self._lines[shape]
                return request
        return None

    def _has_room(self, need: Need) -> bool:
        return (
            need.jobs <= self._jobs
            and need.cpus <= self._cpus + _ROUNDING
            and need.memory_bytes <= self._memory
            and need.gpus <= len(self._gpus)
        )

    def _is_locked(self, hold: Hold) -> bool:
        """Return whether a lock is known not to be free."""
        return hold in self._elsewhere or self.locks.is_full(hold)

    def _take_locks(self, holds: tuple[Hold, ...]) -> bool:
        taken_elsewhere = self.locks.take_all(holds)
        if taken_elsewhere is None:
            return True
        self._elsewhere.add(taken_elsewhere)
        if self._look is None:
            loop = asyncio.get_running_loop()
            self._look = loop.call_later(_LOCK_POLL_S, self._look_again)
        return False

    def _look_again(self) -> None:
        self._look = None
        self._elsewhere.clear()
        self._wake()

    def _take(self, request: Request) -> Grant:
        need = request.shape.need
        self._jobs -= need.jobs
        self._cpus -= need.cpus
        self._memory -= need.memory_bytes
        for lane in request.shape.lanes:
            lane.free -= 1
        gpus = tuple(self._gpus[: need.gpus])
        del self._gpus[: need.gpus]
        return Grant(request.shape, gpus)


_ROUNDING = 1e-9
"""Parts of processors do not add up exactly."""


def _is_bounded(shape: Shape) -> bool:
    return any(lane.free <= 0 for lane in shape.lanes)
