"""In which order jobs start, foretold by a list schedule."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence

from couler.caching.graph import ArtifactGraph

DEFAULT_WORKERS = 8
"""How many jobs run at a time where nobody says it."""


def start_order(
    graph: ArtifactGraph,
    workers: int | None = DEFAULT_WORKERS,
    seconds: Sequence[float] | None = None,
) -> tuple[int, ...]:
    """Return all jobs in the order in which a list schedule starts them."""
    # .. [1] R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
    # Mathematics 17(2), 1969.
    return RunSchedule(graph, workers, seconds).remaining()


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
        """Return the jobs that have not started, in the order in which they will."""
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
