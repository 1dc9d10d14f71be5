"""Caches and what they know, computed anew for each question: slow, and plain to see right."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.cache_simulation.importance import Moment, reconstruction_cost, reuse_value
from benchmarks.cache_simulation.run_knowledge import RunSchedule
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading
from couler.caching.policy import CachePolicy


def random_graph(chance: random.Random, max_jobs: int = 7) -> ArtifactGraph:
    """Jobs that read of earlier ones; sizes, times and degrees of all kinds, also 0 and equal."""
    count = chance.randint(1, max_jobs)
    producers: list[int | None] = []
    readers: list[tuple[int, ...]] = []
    for job in [None, *range(count)]:
        later = range(0 if job is None else job + 1, count)
        for _ in range(chance.randint(0, 2)):
            producers.append(job)
            readers.append(tuple(one for one in later if not chance.randint(0, 2)))
    total = len(producers)
    return ArtifactGraph(
        jobs=tuple(f"job{job}" for job in range(count)),
        artifacts=tuple(f"a{artifact}" for artifact in range(total)),
        producer=tuple(producers),
        readers=tuple(readers),
        size_bytes=tuple(chance.randint(0, 12) for _ in range(total)),
        seconds=tuple(float(chance.randint(0, 6)) for _ in range(count)),
        waits=tuple(
            (chance.randrange(job),) if job and not chance.randint(0, 3) else ()
            for job in range(count)
        ),
    )


def random_reading_times(chance: random.Random, graph: ArtifactGraph) -> tuple[float, ...] | None:
    """How long a read takes, where there is something to read."""
    if chance.randint(0, 1):
        return None
    return tuple(
        math.inf if maker is not None and chance.randint(0, 1) else float(chance.randint(0, 9))
        for maker in graph.producer
    )


class PlainKnowledge:
    """What `RunKnowledge` says, by the definitions."""

    def __init__(
        self, graph: ArtifactGraph, order: Sequence[int], read_s: Sequence[float] | None
    ) -> None:
        self.graph = graph
        self.order = order
        self.read_s = read_s
        self.kept: set[str] = set()
        self.started: set[int] = set()
        self.ended: set[int] = set()

    def start(self, job: int) -> None:
        self.started.add(job)

    def end(self, job: int) -> None:
        self.started.add(job)
        self.ended.add(job)

    def keep(self, key: str) -> tuple[str, ...]:
        self.kept.add(key)
        return ()

    def give_up(self, key: str) -> None:
        self.kept.remove(key)

    def size_bytes(self, key: str) -> int:
        return self.graph.size_bytes[self.graph.number[key]]

    def cost_s(self, key: str) -> float:
        artifact = self.graph.number[key]
        maker = self.graph.producer[artifact]
        if self.read_s is not None:
            read_s = self.read_s[artifact]
        else:
            read_s = 0.0 if maker is None else math.inf
        if maker is None:
            return read_s
        needs = [self.graph.artifacts[one] for one in self.graph.inputs[maker]]
        longest = max((self.cost_s(one) for one in needs if one not in self.kept), default=0.0)
        return min(read_s, self.graph.seconds[maker] + longest)

    def is_read(self, key: str) -> bool:
        return self.readers_left(key) > 0

    def readers_left(self, key: str) -> int:
        return len(set(self.graph.readers[self.graph.number[key]]) - self.started)

    def distance(self, key: str) -> int | None:
        waiting = [job for job in self.order if job not in self.started]
        readers = self.graph.readers[self.graph.number[key]]
        return next((at for at, job in enumerate(waiting, 1) if job in readers), None)

    def reconstruction(self, key: str, reading: Reading) -> float:
        return reconstruction_cost(
            self.graph, self._moment(), self.graph.number[key], reading=reading
        )

    def reuse(self, key: str, reading: Reading) -> float:
        return reuse_value(self.graph, self._moment(), self.graph.number[key], reading=reading)

    def _moment(self) -> Moment:
        return Moment({self.graph.number[key] for key in self.kept}, self.ended)


class ForetoldKnowledge(PlainKnowledge):
    """What `RunKnowledge` says of at most 16 jobs, by a schedule of what has happened."""

    def __init__(self, graph: ArtifactGraph, workers: int, read_s: Sequence[float] | None) -> None:
        super().__init__(graph, (), read_s)
        self.workers = workers
        self.happened: list[tuple[str, int]] = []

    def start(self, job: int) -> None:
        super().start(job)
        self.happened.append(("start", job))

    def end(self, job: int) -> None:
        super().end(job)
        self.happened.append(("end", job))

    def distance(self, key: str) -> int | None:
        schedule = RunSchedule(self.graph, self.workers)
        for what, job in self.happened:
            getattr(schedule, what)(job)
        self.order = schedule.remaining()
        return super().distance(key)


@dataclass
class Counted:
    """What `PlainCache` remembers of an artifact."""

    admitted: int
    last_used: int
    uses: int = 1
    credit: float = 0.0


@dataclass
class PlainCache:
    """What `BudgetedCache` does, all worths asked for at each eviction."""

    capacity_bytes: int
    policy: CachePolicy
    outlook: PlainKnowledge
    age: float = 0.0
    counts: dict[str, Counted] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    offers: int = 0
    clock: int = 0

    def __getattr__(self, name: str) -> object:  # the outlook's part of what a policy is told
        return getattr(self.outlook, name)

    def admitted(self, key: str) -> int:
        return self.counts[key].admitted

    def last_used(self, key: str) -> int:
        return self.counts[key].last_used

    def uses(self, key: str) -> int:
        return self.counts[key].uses

    def credit(self, key: str) -> float:
        return self.counts[key].credit

    @property
    def used_bytes(self) -> int:
        return sum(map(self.outlook.size_bytes, self.kept))

    def offer(self, key: str) -> tuple[bool, tuple[str, ...]]:
        if key in self.kept:
            return True, ()
        if self.outlook.size_bytes(key) > self.capacity_bytes:
            return False, ()
        self.offers += 1
        self.clock += 1
        self.counts[key] = Counted(self.offers, self.clock)
        if self.policy.admit(key, self) is not None:
            return False, ()
        self.counts[key].credit = self.policy.on_access(key, self)
        before = list(self.kept)
        self._keep(key)
        are_densities = getattr(self.policy, "worths_are_densities", False)
        evicted = self._evicted(key, is_running=not are_densities)
        if are_densities and evicted:
            lost = sum(worth * self.outlook.size_bytes(one) for one, worth in evicted)
            left = self.capacity_bytes - self.used_bytes
            gained = self.policy.worth(key, self) * (self.outlook.size_bytes(key) + left / 2)
            if lost > gained:
                self._give_up(key)
        if key not in self.kept:
            for one in before:
                if one not in self.kept:
                    self._keep(one)
            return False, ()
        return True, self._aged(evicted)

    def access(self, key: str) -> bool:
        if key not in self.kept:
            return False
        self.clock += 1
        self.counts[key].last_used = self.clock
        self.counts[key].uses += 1
        self.counts[key].credit = self.policy.on_access(key, self)
        return True

    def _keep(self, key: str) -> None:
        self.kept.append(key)
        self.outlook.keep(key)

    def _give_up(self, key: str) -> None:
        self.kept.remove(key)
        self.outlook.give_up(key)

    def _evicted(self, newcomer: str, *, is_running: bool) -> list[tuple[str, float]]:
        evicted: list[tuple[str, float]] = []
        while self.used_bytes > self.capacity_bytes:
            free = [key for key in self.kept if is_running or key != newcomer]
            ranked = [(self.policy.worth(key, self), self.last_used(key), key) for key in free]
            worth, _, key = min(ranked)
            evicted.append((key, worth))
            self._give_up(key)
        if newcomer not in [key for key, _ in evicted]:
            for one in evicted[::-1]:
                size = self.outlook.size_bytes(one[0])
                if self.used_bytes + size <= self.capacity_bytes:
                    self._keep(one[0])
                    evicted.remove(one)
        return evicted

    def _aged(self, evicted: list[tuple[str, float]]) -> tuple[str, ...]:
        self.age = max([self.age, *(worth for _, worth in evicted)])
        return tuple(key for key, _ in evicted)
