"""A run of steps over a cache, event by event."""

from __future__ import annotations

import heapq
import typing as t
from collections import deque

from benchmarks.cache_simulation.machine import Machine
from benchmarks.cache_simulation.report import Phase, Report, Span
from couler.caching.graph import ArtifactGraph


class Cache(t.Protocol):
    """The cache of a simulated run: artifacts and jobs by their numbers in the graph."""

    @property
    def used_bytes(self) -> int:
        """What is held, in bytes."""

    def holds(self, artifact: int) -> bool:
        """Return whether an artifact can be read from the cache."""

    def access(self, artifact: int) -> None:
        """Note that an artifact that is held is read, as an input or to make another one again."""

    def start(self, job: int) -> None:
        """Note that a job has begun, and that what it needs of the cache has been read."""

    def offer(self, artifact: int) -> bool:
        """Return whether the cache holds an artifact from now on; others may go for it."""

    def end(self, job: int) -> None:
        """Note that a job has ended, and that its outputs are there."""


def simulate(graph: ArtifactGraph, cache: Cache, machine: Machine) -> Report:
    """Return what a run of a graph does over a cache."""
    return _Run(graph, cache, machine).report()


_READ, _COMPUTED, _ENDED = range(3)


class _Run:
    """The state of a run; each method is what happens at an event."""

    def __init__(self, graph: ArtifactGraph, cache: Cache, machine: Machine) -> None:
        self._graph = graph
        self._cache = cache
        self._machine = machine
        self._now = 0.0
        self._waits_for = [len(before) for before in graph.predecessors]
        self._freed = [job for job, count in enumerate(self._waits_for) if not count]
        self._ready: deque[int] = deque()
        self._idle = machine.workers
        self._events: list[tuple[float, int, int, int]] = []
        self._count = 0
        self._fetched: dict[int, list[int]] = {}
        self._reads = self._hits = self._peak = 0
        self._read_s = self._write_s = self._byte_seconds = 0.0
        self._steps: list[tuple[int, bool]] = []
        self._spans: list[Span] = []

    def report(self) -> Report:
        """Run to the end."""
        self._start_ready()
        while self._events:
            at = self._events[0][0]
            self._byte_seconds += self._cache.used_bytes * (at - self._now)
            self._now = at
            while self._events and self._events[0][0] == at:
                _, _, what, job = heapq.heappop(self._events)
                if what == _READ:
                    self._compute(job)
                elif what == _COMPUTED:
                    self._write(job)
                else:
                    self._end(job)
            self._start_ready()
        return Report(
            seconds=self._now,
            reads=self._reads,
            hits=self._hits,
            read_s=self._read_s,
            write_s=self._write_s,
            peak_bytes=self._peak,
            mean_bytes=self._byte_seconds / self._now if self._now else 0.0,
            steps=tuple(self._steps),
            spans=tuple(self._spans),
        )

    def _start_ready(self) -> None:
        self._ready.extend(sorted(self._freed))
        self._freed.clear()
        while self._ready and self._idle:
            self._idle -= 1
            self._read(self._ready.popleft())

    def _read(self, job: int) -> None:
        """Begin a step: see what the cache holds of its inputs, and get them all."""
        self._steps.append((job, False))
        inputs = self._graph.inputs[job]
        self._reads += len(inputs)
        self._hits += sum(map(self._cache.holds, inputs))
        work, held, self._fetched[job] = self._fetching(job)
        for artifact in held:
            self._cache.access(artifact)
        self._cache.start(job)
        read_s = sum(seconds for _, _, seconds in work)
        self._read_s += read_s
        if not self._machine.waits:
            self._compute(job)
            return
        at = self._now
        for of, phase, seconds in work:
            at = self._span(of, phase, at, seconds)
        self._at(at, _READ, job)

    def _fetching(self, job: int) -> tuple[list[tuple[int, Phase, float]], list[int], list[int]]:
        """The work of having all inputs of a job, what is held of it, and what is fetched."""
        graph, machine = self._graph, self._machine
        work: list[tuple[int, Phase, float]] = []
        held: dict[int, None] = {}
        fetched: dict[int, None] = {}
        got: set[int] = set()
        # What to get; or, negative, a job to run again once its inputs have been got.
        todo = list(reversed(graph.inputs[job]))
        while todo:
            artifact = todo.pop()
            if artifact < 0:
                again = -1 - artifact
                work.append((again, "remake", graph.seconds[again]))
                got.update(graph.outputs[again])
                fetched.update(dict.fromkeys(graph.outputs[again]))
                continue
            is_held = self._cache.holds(artifact)
            if is_held:
                held[artifact] = None
            if artifact in got:
                continue
            got.add(artifact)
            size, maker = graph.size_bytes[artifact], graph.producer[artifact]
            if is_held:
                work.append((job, "read", machine.cache.read_s(size)))
            elif machine.misses == "reread" or maker is None:
                work.append((job, "read", machine.remote.read_s(size)))
                fetched[artifact] = None
            else:
                todo.append(-1 - maker)
                todo.extend(reversed(graph.inputs[maker]))
        return work, list(held), list(fetched)

    def _compute(self, job: int) -> None:
        """Offer what was fetched, and begin to compute."""
        at = self._offer(job, self._fetched.pop(job))
        at = self._span(job, "compute", at, self._graph.seconds[job])
        self._at(at, _COMPUTED, job)

    def _write(self, job: int) -> None:
        """Offer the outputs, and write them."""
        outputs = self._graph.outputs[job]
        at = self._offer(job, outputs)
        if self._machine.misses == "reread":
            sizes = map(self._graph.size_bytes.__getitem__, outputs)
            at = self._written(job, at, sum(map(self._machine.remote.write_s, sizes)))
        if at > self._now:
            self._at(at, _ENDED, job)
        else:
            self._end(job)

    def _offer(self, job: int, artifacts: t.Iterable[int]) -> float:
        """Return when what the cache takes of artifacts is written to it."""
        seconds = 0.0
        for artifact in artifacts:
            # Another step may have brought it while this one fetched it.
            if not self._cache.holds(artifact) and self._cache.offer(artifact):
                seconds += self._machine.cache.write_s(self._graph.size_bytes[artifact])
            self._peak = max(self._peak, self._cache.used_bytes)
        return self._written(job, self._now, seconds)

    def _written(self, job: int, at: float, seconds: float) -> float:
        self._write_s += seconds
        return self._span(job, "write", at, seconds) if self._machine.waits else at

    def _end(self, job: int) -> None:
        self._steps.append((job, True))
        self._cache.end(job)
        self._idle += 1
        for after in self._graph.successors[job]:
            self._waits_for[after] -= 1
            if not self._waits_for[after]:
                self._freed.append(after)

    def _span(self, job: int, phase: Phase, at: float, seconds: float) -> float:
        """Note what a step does from a time on, and return when it is done."""
        if seconds:
            self._spans.append(Span(job, phase, at, at + seconds))
        return at + seconds

    def _at(self, at: float, what: int, job: int) -> None:
        heapq.heappush(self._events, (at, self._count, what, job))
        self._count += 1
