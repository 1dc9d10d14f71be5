"""What is known of the artifacts of one run while it is under way."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from benchmarks.cache_simulation.importance import (
    LAYERS,
    Moment,
    reconstruction_cost,
    reuse_value,
    stale_by_end,
    stale_by_keeping,
)
from benchmarks.cache_simulation.schedule import RunSchedule
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading

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
