"""What it costs to have an artifact again: to read it from elsewhere, or to make it anew."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from couler.caching.graph import ArtifactGraph

__all__ = ["RestoringCosts"]


class RestoringCosts:
    r"""The seconds to have each of m artifacts again, by what else is kept at the moment."""

    def __init__(self, graph: ArtifactGraph, read_s: Sequence[float] | None = None) -> None:
        self._graph = graph
        self._is_kept = [False] * len(graph.artifacts)
        self._read_s = _checked(graph, read_s)
        passes_on = [self._passes_on(job) for job in range(len(graph.jobs))]
        self._listeners = tuple(
            tuple(job for job in readers if passes_on[job]) for readers in graph.readers
        )
        self._rank = [0] * len(graph.jobs)
        for rank, job in enumerate(graph.order):
            self._rank[job] = rank
        self._needs: dict[int, _Needs] = {}
        self._cost_s = self._read_s.copy()

    def cost_s(self, artifact: int) -> float:
        """Return the seconds to have an artifact again if it were not kept."""
        self._reach(artifact)
        return self._cost_s[artifact]

    def keep(self, artifact: int) -> list[int]:
        """Take note that one is kept; return those asked for of which the cost has changed."""
        self._is_kept[artifact] = True
        return self._spread(artifact)

    def give_up(self, artifact: int) -> list[int]:
        """Take note that one is kept no longer; return as `keep` does."""
        self._is_kept[artifact] = False
        return self._spread(artifact)

    def _passes_on(self, job: int) -> bool:
        """Return whether what a job reads can change what its outputs cost."""
        seconds = self._graph.seconds[job]
        return any(seconds < self._read_s[artifact] for artifact in self._graph.outputs[job])

    def _spread(self, artifact: int) -> list[int]:
        """Tell what an artifact takes now, and compute anew what changes by that."""
        changed: list[int] = []
        later: list[tuple[int, int]] = []
        self._tell(artifact, later)
        last = None
        while later:
            _, job = heapq.heappop(later)
            if job == last:
                continue
            last = job
            for output in self._graph.outputs[job]:
                cost_s = self._lesser(job, output)
                if cost_s != self._cost_s[output]:
                    self._cost_s[output] = cost_s
                    changed.append(output)
                    if not self._is_kept[output]:
                        self._tell(output, later)
        return changed

    def _tell(self, artifact: int, later: list[tuple[int, int]]) -> None:
        """Tell the readers of an artifact what it takes; note those to which that matters."""
        need_s = self._need_s(artifact)
        for job in self._listeners[artifact]:
            if job in self._needs and self._needs[job].put(artifact, need_s):
                heapq.heappush(later, (self._rank[job], job))

    def _reach(self, artifact: int) -> None:
        """Compute the cost of an artifact for the first time, and first of what it is made of."""
        graph = self._graph
        maker = graph.producer[artifact]
        jobs = [] if maker is None else [maker]
        while jobs:
            if jobs[-1] in self._needs:
                jobs.pop()
                continue
            job = jobs[-1]
            makers = [graph.producer[read] for read in graph.inputs[job]]
            before = [one for one in makers if one is not None and one not in self._needs]
            if before:
                jobs += before
                continue
            needs = self._needs[job] = _Needs()
            for read in graph.inputs[job]:
                needs.put(read, self._need_s(read))
            for output in graph.outputs[job]:
                self._cost_s[output] = self._lesser(job, output)

    def _need_s(self, artifact: int) -> float:
        return 0.0 if self._is_kept[artifact] else self._cost_s[artifact]

    def _lesser(self, job: int, output: int) -> float:
        return min(self._read_s[output], self._graph.seconds[job] + self._needs[job].greatest())


class _Needs:
    """What each artifact that a job reads takes to be there, and the greatest of it."""

    def __init__(self) -> None:
        self._need_s: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def put(self, artifact: int, need_s: float) -> bool:
        """Set what one takes; return whether the greatest has changed."""
        before = self.greatest()
        self._need_s[artifact] = need_s
        heapq.heappush(self._heap, (-need_s, artifact))
        if len(self._heap) > 2 * len(self._need_s) + _SLACK:
            self._heap = [(-one_s, other) for other, one_s in self._need_s.items()]
            heapq.heapify(self._heap)
        return self.greatest() != before

    def greatest(self) -> float:
        """Return what takes longest; 0 if there is none."""
        heap = self._heap
        while heap and self._need_s[heap[0][1]] != -heap[0][0]:
            heapq.heappop(heap)
        return -heap[0][0] if heap else 0.0


_SLACK = 8
"""How many entries beyond twice those in use a heap may have before it is made anew."""


def _checked(graph: ArtifactGraph, read_s: Sequence[float] | None) -> list[float]:
    if read_s is None:
        return [0.0 if maker is None else math.inf for maker in graph.producer]
    if len(read_s) != len(graph.artifacts):
        raise ValueError(f"read_s: {len(read_s)} values for {len(graph.artifacts)} artifacts")
    for artifact, seconds in enumerate(read_s):
        if not seconds >= 0:
            raise ValueError(f"read_s: {graph.artifacts[artifact]} takes {seconds} seconds")
        if graph.producer[artifact] is None and math.isinf(seconds):
            name = graph.artifacts[artifact]
            raise ValueError(f"read_s: {name} comes from outside, so it must be readable there")
    return list(read_s)
