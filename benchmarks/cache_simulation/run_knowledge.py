"""What is known of a simulated run while it goes on, and the cache that a policy governs by it."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchmarks.cache_simulation.cache import BudgetedCache
from benchmarks.cache_simulation.importance import (
    LAYERS,
    Moment,
    reconstruction_cost,
    reuse_value,
    stale_by_end,
    stale_by_keeping,
)
from benchmarks.cache_simulation.machine import Machine
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading
from couler.caching.policy import CachePolicy

DEFAULT_WORKERS = 8
"""How many jobs run at a time where nobody says it."""


class RunSchedule:
    """In which order the jobs of a run will start, foretold anew as it goes on."""

    def __init__(
        self,
        graph: ArtifactGraph,
        workers: int | None = DEFAULT_WORKERS,
        seconds: Sequence[float] | None = None,
    ) -> None:
        count = len(graph.jobs)
        if workers is not None and workers < 1:
            raise ValueError(f"{workers} workers: at least one must run the jobs")
        self._knows_seconds = seconds is not None
        self._seconds = (1.0,) * count if seconds is None else tuple(seconds)
        if len(self._seconds) != count:
            raise ValueError(f"{len(self._seconds)} durations for {count} jobs")
        self._graph = graph
        self._workers = max(count, 1) if workers is None else workers
        self._waits_for = [len(before) for before in graph.predecessors]
        self._has_started = [False] * count
        self._ready = dict.fromkeys(job for job in range(count) if not self._waits_for[job])
        # Of what runs the times at which it ends, of which only differences matter.
        self._running: dict[int, float] = {}
        self._now = 0.0

    def start(self, job: int) -> None:
        """Take note that a job has started; nothing if that was known."""
        if not self._has_started[job]:
            self._has_started[job] = True
            self._ready.pop(job, None)
            self._running[job] = self._now + self._seconds[job]

    def end(self, job: int) -> None:
        """Take note that a job has ended, or that it will not run; nothing if that was known."""
        self.start(job)
        if job not in self._running:
            return
        ends = self._running.pop(job)
        if self._knows_seconds:
            self._now = max(self._now, ends)
        for after in self._graph.successors[job]:
            self._waits_for[after] -= 1
            if not self._waits_for[after] and not self._has_started[after]:
                self._ready[after] = None

    def remaining(self) -> tuple[int, ...]:
        """Return the jobs that have not started, in the order in which a list schedule does."""
        # R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
        # Mathematics 17(2), 1969.
        waits_for = self._waits_for.copy()
        ready = deque(self._ready)
        now = self._now
        running = [(max(now, ends), job) for job, ends in self._running.items()]
        heapq.heapify(running)
        order: list[int] = []
        while ready or running:
            while ready and len(running) < self._workers:
                job = ready.popleft()
                order.append(job)
                heapq.heappush(running, (now + self._seconds[job], job))
            now = running[0][0]
            freed: list[int] = []
            while running and running[0][0] == now:
                _, job = heapq.heappop(running)
                for after in self._graph.successors[job]:
                    waits_for[after] -= 1
                    if not waits_for[after] and not self._has_started[after]:
                        freed.append(after)
            ready.extend(sorted(freed))
        return tuple(order)


_FORETELLINGS = 16
"""How often the order is foretold while as many jobs start and end as are left."""


class RunKnowledge:
    """The outlook of one run: what is left to read, when, and what it costs to have it again."""

    def __init__(
        self,
        graph: ArtifactGraph,
        *,
        order: RunSchedule | Sequence[int] | None = None,
        read_s: Sequence[float] | None = None,
        layers: int = LAYERS,
    ) -> None:
        self._graph = graph
        self._number = graph.number
        given = RunSchedule(graph) if order is None else order
        self._schedule = given if isinstance(given, RunSchedule) else None
        self._left = set(range(len(graph.jobs)))
        self._kept: set[int] = set()
        self._ended: set[int] = set()
        self._expect(given.remaining() if isinstance(given, RunSchedule) else given)
        self._changes = 0
        self._is_distance_asked = False
        outside = (0.0 if maker is None else math.inf for maker in graph.producer)
        self._read_s = tuple(outside if read_s is None else read_s)
        self._can_remake = any(map(math.isfinite, graph.seconds))
        self._costs = self._all_costs()
        self._layers = layers
        self._moment = Moment(self._kept, self._ended)
        self._is_importance_asked = False

    def start(self, job: int) -> tuple[str, ...]:
        """Take note that a job has read what it reads; return what may be worth less by that."""
        if job not in self._left:
            return ()
        self._read(job)
        if self._schedule is not None:
            self._schedule.start(job)
        return self._names({*self._graph.inputs[job], *self._foretold()})

    def end(self, job: int) -> tuple[str, ...]:
        """Take note that a job has ended, or that it will not run; return as `start` does."""
        if job in self._ended:
            return ()
        self._ended.add(job)
        changed = set[int]()
        if job in self._left:
            self._read(job)
            changed.update(self._graph.inputs[job])
        if self._schedule is not None:
            self._schedule.end(job)
        changed.update(self._foretold())
        if self._is_importance_asked:
            changed |= stale_by_end(self._graph, self._kept, job, self._layers)
        return self._names(changed)

    def keep(self, key: str) -> tuple[str, ...]:
        """Take note that an artifact is kept from now on; return as `start` does."""
        artifact = self._number[key]
        self._kept.add(artifact)
        changed = set[int]()
        if self._can_remake:
            before, self._costs = self._costs, self._all_costs()
            changed = {one for one, cost in enumerate(self._costs) if cost != before[one]}
        if self._is_importance_asked:
            changed |= stale_by_keeping(self._graph, self._kept, artifact, self._layers)
        return self._names(changed)

    def give_up(self, key: str) -> None:
        """Take note that an artifact is kept no longer, by which no other is worth less."""
        self._kept.discard(self._number[key])
        if self._can_remake:
            self._costs = self._all_costs()

    def size_bytes(self, key: str) -> int:
        """Return what an artifact takes."""
        return self._graph.size_bytes[self._number[key]]

    def cost_s(self, key: str) -> float:
        """Return the seconds to have it again: to read it, or to make it of what is kept."""
        return self._costs[self._number[key]]

    def readers_left(self, key: str) -> int:
        """Return how many of its readers have not started."""
        return sum(job in self._left for job in self._graph.readers[self._number[key]])

    def is_read(self, key: str) -> bool:
        """Return whether one of its readers has not started."""
        return any(job in self._left for job in self._graph.readers[self._number[key]])

    def distance(self, key: str) -> int | None:
        """Return which of the jobs to start, counted from 1, reads it next; None if none does."""
        if not self._is_distance_asked:
            self._is_distance_asked = True
            self._foretell()
        return self._distance(self._number[key])

    def reconstruction(self, key: str, reading: Reading) -> float:
        """Return the reconstruction cost of Eq. 3."""
        self._is_importance_asked = True
        return reconstruction_cost(
            self._graph, self._moment, self._number[key], reading=reading, layers=self._layers
        )

    def reuse(self, key: str, reading: Reading) -> float:
        """Return the reuse value of Eq. 4."""
        self._is_importance_asked = True
        return reuse_value(
            self._graph, self._moment, self._number[key], reading=reading, layers=self._layers
        )

    def _all_costs(self) -> list[float]:
        graph, kept, costs = self._graph, self._kept, list(self._read_s)
        for job in graph.order:
            needs = (costs[read] for read in graph.inputs[job] if read not in kept)
            seconds = graph.seconds[job] + max(needs, default=0.0)
            for output in graph.outputs[job]:
                costs[output] = min(costs[output], seconds)
        return costs

    def _distance(self, artifact: int) -> int | None:
        ranks = [self._rank[job] for job in self._graph.readers[artifact] if job in self._left]
        return bisect_left(self._waiting, min(ranks)) + 1 if ranks else None

    def _read(self, job: int) -> None:
        self._left.remove(job)
        del self._waiting[bisect_left(self._waiting, self._rank[job])]

    def _foretold(self) -> Iterable[int]:
        """Foretell the order anew if it is time; return what is further away by that."""
        self._changes += 1
        if not self._is_distance_asked or self._changes * _FORETELLINGS < len(self._left):
            return ()
        return self._foretell()

    def _foretell(self) -> Iterable[int]:
        self._changes = 0
        if self._schedule is None:
            return ()
        before = {one: self._distance(one) or 0 for one in self._kept}
        self._expect(self._schedule.remaining())
        return [one for one in self._kept if (self._distance(one) or 0) > before[one]]

    def _expect(self, order: Sequence[int]) -> None:
        """Take note in which order the jobs that have not started are expected to start."""
        self._rank = {job: rank for rank, job in enumerate(order)}
        self._waiting = list(range(len(order)))

    def _names(self, artifacts: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._graph.artifacts[artifact] for artifact in artifacts)


class GovernedCache:
    """What a policy keeps, of what it can know while a run is under way."""

    def __init__(
        self,
        graph: ArtifactGraph,
        capacity_bytes: int,
        policy: CachePolicy,
        machine: Machine,
        *,
        told_seconds: Sequence[float] | None = None,
    ) -> None:
        self._graph = graph
        self._outlook = _outlook(graph, machine, told_seconds)
        self._cache = BudgetedCache(capacity_bytes, policy, self._outlook)

    @property
    def used_bytes(self) -> int:
        """What is held, in bytes."""
        return self._cache.used_bytes

    def holds(self, artifact: int) -> bool:
        """Return whether an artifact can be read from the cache."""
        return self._graph.artifacts[artifact] in self._cache

    def access(self, artifact: int) -> None:
        """Note that an artifact that is held is read, as an input or to make another one again."""
        self._cache.access(self._graph.artifacts[artifact])

    def start(self, job: int) -> None:
        """Note that a job has begun, and that what it needs of the cache has been read."""
        self._cache.refresh(self._outlook.start(job))

    def offer(self, artifact: int) -> bool:
        """Return whether the cache holds an artifact from now on; others may go for it."""
        return self._cache.offer(self._graph.artifacts[artifact]).admitted

    def end(self, job: int) -> None:
        """Note that a job has ended, and that its outputs are there."""
        self._cache.refresh(self._outlook.end(job))


def _outlook(
    graph: ArtifactGraph, machine: Machine, told_seconds: Sequence[float] | None
) -> RunKnowledge:
    """Return what is known of a run before it starts."""
    schedule = RunSchedule(graph, machine.workers, told_seconds)
    seconds = (1.0,) * len(graph.jobs) if told_seconds is None else tuple(told_seconds)
    is_reread = machine.misses == "reread"
    read_s = [
        machine.remote.read_s(size) if is_reread or maker is None else math.inf
        for size, maker in zip(graph.size_bytes, graph.producer, strict=True)
    ]
    # Where misses are read again nothing is ever made again, however quick that would be.
    remaking = (math.inf,) * len(graph.jobs) if is_reread else seconds
    return RunKnowledge(replace(graph, seconds=remaking), order=schedule, read_s=read_s)
