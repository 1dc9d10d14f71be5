"""The reuse value of Eq. 4, kept up to date as artifacts come and go and jobs end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set

from couler.caching.graph import ArtifactGraph
from couler.caching.importance import LAYERS, Reading, jobs_that_depend, value_of_counts
from couler.caching.invalidation import read_before

__all__ = ["ReuseValues"]


class ReuseValues:
    """The reuse values of the artifacts that were asked about."""

    def __init__(
        self, graph: ArtifactGraph, kept: Set[int], ended: Set[int], layers: int = LAYERS
    ) -> None:
        self._graph = graph
        self._kept = kept
        self._ended = ended
        self._layers = layers
        self._known: dict[int, _Dependants] = {}
        self._given_up: dict[int, None] = {}
        """What is remembered and not kept, what was given up last at the end."""

    def of(self, artifact: int, reading: Reading = "repaired") -> float:
        """Return the reuse value of an artifact, as `couler.caching.importance.reuse_value`."""
        found = self._known.get(artifact)
        if found is None:
            found = _Dependants(self._graph, self._kept, self._ended, artifact, self._layers)
            self._known[artifact] = found
            self._remember(artifact)
        return value_of_counts(found.all, found.waiting, reading=reading)

    def keep(self, artifact: int) -> None:
        """Take note that an artifact is kept from now on."""
        self._given_up.pop(artifact, None)
        for found in self._concerned(artifact):
            found.cut(artifact)

    def give_up(self, artifact: int) -> None:
        """Take note that an artifact is kept no longer."""
        for found in self._concerned(artifact):
            found.join(artifact)
        if artifact in self._known:
            self._remember(artifact)

    def end(self, job: int) -> None:
        """Take note that a job has ended, which it had not before."""
        for one in read_before(self._graph, self._kept, job, self._layers):
            if one in self._known:
                self._known[one].end(job)

    def _remember(self, artifact: int) -> None:
        """Note that an artifact is remembered; forget what was given up long ago for it."""
        if artifact not in self._kept:
            self._given_up[artifact] = None
        while len(self._given_up) > len(self._kept) + _SLACK:
            oldest = next(iter(self._given_up))
            del self._given_up[oldest], self._known[oldest]

    def _concerned(self, artifact: int) -> Iterator[_Dependants]:
        maker = self._graph.producer[artifact]
        if maker is not None:
            for one in read_before(self._graph, self._kept, maker, self._layers - 1):
                if one in self._known:
                    yield self._known[one]


_SLACK = 8
"""How many more than are kept are remembered after they were given up."""


class _Dependants:
    """The jobs that depend on one artifact: `G_s`."""

    def __init__(
        self,
        graph: ArtifactGraph,
        kept: Set[int],
        ended: Set[int],
        artifact: int,
        layers: int,
    ) -> None:
        self._graph = graph
        self._kept = kept
        self._ended = ended
        self._layers = layers
        self.all = [0] * (layers + 1)
        """How many there are at each distance."""
        self.waiting = [0] * (layers + 1)
        """How many of them have not ended."""
        self._distance: dict[int, int] = {}
        self._ways: dict[int, int] = {}
        """For each job further than 1 how many artifacts it reads of jobs one nearer."""
        for job, distance in jobs_that_depend(graph, kept, artifact, layers).items():
            self._place(job, distance)
        for job, distance in self._distance.items():
            for after in self._behind(job) if distance < layers else ():
                if self._distance[after] == distance + 1:
                    self._ways[after] = self._ways.get(after, 0) + 1

    def end(self, job: int) -> None:
        """Count a job as ended."""
        distance = self._distance.get(job)
        if distance is not None:
            self.waiting[distance] -= 1

    def join(self, artifact: int) -> None:
        """Add the ways that lead through an artifact."""
        maker = self._graph.producer[artifact]
        near = None if maker is None else self._distance.get(maker)
        if near is None or near == self._layers:
            return
        reached = list(self._graph.readers[artifact])
        for distance in range(near + 1, self._layers + 1):
            further: list[int] = []
            for job in reached:
                before = self._distance.get(job)
                if before == distance:
                    self._ways[job] += 1
                elif before is None or before > distance:
                    # Those behind it come nearer as well, so their old ways need not be taken back.
                    if before is not None:
                        self._remove(job)
                    self._place(job, distance)
                    self._ways[job] = 1
                    further += self._behind(job)
            reached = further

    def cut(self, artifact: int) -> None:
        """Take away the ways that lead through an artifact."""
        maker = self._graph.producer[artifact]
        near = None if maker is None else self._distance.get(maker)
        if near is None or near == self._layers:
            return
        lost: defaultdict[int, list[int]] = defaultdict(list)
        lost[near + 1] += self._graph.readers[artifact]
        falling: set[int] = set()
        for distance in range(near + 1, self._layers + 1):
            fallen: set[int] = set()
            for job in lost[distance]:
                if self._distance.get(job) != distance:
                    continue
                self._ways[job] -= 1
                if not self._ways[job]:
                    self._remove(job)
                    lost[distance + 1] += self._behind(job)
                    fallen.add(job)
            falling -= self._caught(falling, distance)
            falling |= fallen

    def _caught(self, jobs: Iterable[int], distance: int) -> set[int]:
        """Place the jobs that are at a distance now; return these."""
        caught = {job: ways for job in jobs if (ways := self._count_ways(job, distance))}
        for job, ways in caught.items():
            self._place(job, distance)
            self._ways[job] = ways
            for after in self._behind(job):
                if self._distance.get(after) == distance + 1:
                    self._ways[after] += 1
        return set(caught)

    def _place(self, job: int, distance: int) -> None:
        self._distance[job] = distance
        self.all[distance] += 1
        self.waiting[distance] += job not in self._ended

    def _remove(self, job: int) -> None:
        distance = self._distance.pop(job)
        self._ways.pop(job, None)
        self.all[distance] -= 1
        self.waiting[distance] -= job not in self._ended

    def _behind(self, job: int) -> Iterator[int]:
        """Yield who reads what a job makes that is not kept; once for each such artifact."""
        for output in self._graph.outputs[job]:
            if output not in self._kept:
                yield from self._graph.readers[output]

    def _count_ways(self, job: int, distance: int) -> int:
        producer = self._graph.producer
        return sum(
            self._distance.get(maker) == distance - 1
            for read in self._graph.inputs[job]
            if read not in self._kept and (maker := producer[read]) is not None
        )
