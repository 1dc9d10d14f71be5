"""Which of the steps that could run does run: jobs, processors, memory, GPUs, locks, bounds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from couler.backends.local.capacity import Capacity, Need
from couler.backends.local.demand import Grant, Lane, Request, Shape
from couler.backends.local.limits import Limits
from couler.backends.local.lines import Lines, Queue, first_line
from couler.backends.local.locks import Hold, Locks

_LOCK_POLL_S = 0.2


@dataclass(slots=True)
class Dispatcher:
    """Gives what a machine has to those who ask."""

    capacity: Capacity
    locks: Locks
    _is_due: bool = False
    _is_closed: bool = False
    _elsewhere: list[Lane] = field(default_factory=list)
    """Those of locks, once for each place that another run has had at the last look."""
    _look: asyncio.TimerHandle | None = None
    """The next look at these: nobody tells when another run is done with one."""
    _lines: Lines = field(init=False)
    _jobs: int = field(init=False)
    _cpus: float = field(init=False)
    _memory: int = field(init=False)
    _gpus: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = Lines(self._give_up)
        self._jobs, self._cpus = self.capacity.jobs, self.capacity.cpus
        self._memory, self._gpus = self.capacity.memory_bytes, list(self.capacity.gpus)

    def submit(self, request: Request) -> None:
        """Take a request in; it starts in a later turn of the event loop."""
        if request.limits.reached is not None:
            request.start(None)
            return
        self._lines.add(request)
        self._wake()

    async def acquire(self, shape: Shape, priority: float, limits: Limits) -> Grant | None:
        """Wait for what a shape asks for; None if the limits end before."""
        granted: asyncio.Future[Grant | None] = asyncio.get_running_loop().create_future()
        request = Request(shape, priority, limits, granted.set_result)
        self.submit(request)
        return await granted

    def release(self, grant: Grant) -> None:
        """Take back what was given."""
        shape, need = grant.shape, grant.shape.need
        self._jobs += need.jobs
        self._cpus += need.cpus
        self._memory += need.memory_bytes
        self._gpus.extend(grant.gpus)
        for lock in shape.locks:
            self.locks.release(lock)
        for lane in self._lines.lanes_of(shape):
            lane.give_back()
        self._wake()

    def close(self) -> None:
        """Start nothing any more."""
        self._is_closed = True
        if self._look is not None:
            self._look.cancel()

    def _give_up(self, limits: Limits) -> None:
        self._wake()  # perhaps something waited for what is given up
        for request in self._lines.give_up(limits):
            request.start(None)

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
        fitting: list[Queue] = []
        waiting: list[Queue] = []
        for need, queue in self._lines.queues:
            (fitting if self._has_room(need) else waiting).append(queue)
        while (line := first_line(fitting)) is not None:
            if any(queue.is_impatient(line.rank) for queue in waiting):
                return None
            if self._take_locks(line.shape.locks):
                for queue in waiting:
                    queue.pass_over(line.rank)
                return self._lines.start(line)
        return None

    def _has_room(self, need: Need) -> bool:
        return (
            need.jobs <= self._jobs
            and need.cpus <= self._cpus + _ROUNDING
            and need.memory_bytes <= self._memory
            and need.gpus <= len(self._gpus)
        )

    def _take_locks(self, locks: tuple[Hold, ...]) -> bool:
        """Take locks of which this run has not all places, and tell whether all were free."""
        taken_elsewhere = self.locks.take_all(locks)
        if taken_elsewhere is None:
            return True
        lane = self._lines.lane_of(taken_elsewhere)
        while lane.free > 0:  # so that nobody tries before the next look
            lane.take()
            self._elsewhere.append(lane)
        if self._look is None:
            loop = asyncio.get_running_loop()
            self._look = loop.call_later(_LOCK_POLL_S, self._look_again)
        return False

    def _look_again(self) -> None:
        self._look = None
        elsewhere, self._elsewhere = self._elsewhere, []
        for lane in elsewhere:
            lane.give_back()
        self._wake()

    def _take(self, request: Request) -> Grant:
        need = request.shape.need
        self._jobs -= need.jobs
        self._cpus -= need.cpus
        self._memory -= need.memory_bytes
        for lane in self._lines.lanes_of(request.shape):
            lane.take()
        gpus = tuple(self._gpus[: need.gpus])
        del self._gpus[: need.gpus]
        return Grant(request.shape, gpus)


_ROUNDING = 1e-9
"""Parts of processors do not add up exactly."""
