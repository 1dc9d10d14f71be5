"""How far a run is: which readers of an artifact are left, and how far away the next one is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from couler.caching.graph import ArtifactGraph

__all__ = ["RunProgress"]


class RunProgress:
    """Which jobs of a graph have not started, and what that says of its artifacts."""

    def __init__(self, graph: ArtifactGraph, order: Sequence[int]) -> None:
        if sorted(order) != list(range(len(graph.jobs))):
            raise ValueError("the order does not name each job once")
        self._graph = graph
        self._has_started = [False] * len(order)
        self._left = [len(readers) for readers in graph.readers]
        self._rank = [0] * len(order)
        self._expect(order)

    def expect(self, order: Sequence[int], of: Iterable[int] = ()) -> list[int]:
        """Take note in which order the jobs that have not started are expected to start now."""
        waiting = [job for job in self._job_of if not self._has_started[job]]
        if sorted(order) != sorted(waiting):
            raise ValueError("the order does not name each job once that has not started")
        if waiting == list(order):
            return []
        before = {job: place for place, job in enumerate(waiting)}
        self._expect(order)
        after = self._rank
        further = []
        for artifact in of:
            left = [job for job in self._graph.readers[artifact] if job in before]
            if left and min(after[job] for job in left) > min(before[job] for job in left):
                further.append(artifact)
        return further

    def _expect(self, order: Sequence[int]) -> None:
        for rank, job in enumerate(order):
            self._rank[job] = rank
        self._waiting = _CountTree(len(order))
        self._job_of = tuple(order)
        # For each artifact that was asked for, the ranks of its readers, the next one last.
        self._reads: dict[int, list[int]] = {}

    def start(self, job: int) -> bool:
        """Take note that a job reads nothing any more; return False if that was known."""
        if self._has_started[job]:
            return False
        self._has_started[job] = True
        self._waiting.remove(self._rank[job])
        for artifact in self._graph.inputs[job]:
            self._left[artifact] -= 1
        return True

    def readers_left(self, artifact: int) -> int:
        """Return how many of its readers have not started."""
        return self._left[artifact]

    def distance(self, artifact: int) -> int | None:
        """Return which of the jobs to start, counted from 1, reads it next; None if none does."""
        ranks = self._reads.get(artifact)
        if ranks is None:
            jobs = self._graph.readers[artifact]
            waiting = (self._rank[job] for job in jobs if not self._has_started[job])
            ranks = self._reads[artifact] = sorted(waiting, reverse=True)
        while ranks and self._has_started[self._job_of[ranks[-1]]]:
            ranks.pop()
        return self._waiting.before(ranks[-1]) + 1 if ranks else None


class _CountTree:
    """How many of the numbers below one are left of 0 to n - 1: a Fenwick tree."""

    def __init__(self, count: int) -> None:
        self._sums = [0] + [at & -at for at in range(1, count + 1)]

    def remove(self, number: int) -> None:
        """Take a number away that is there."""
        at = number + 1
        while at < len(self._sums):
            self._sums[at] -= 1
            at += at & -at

    def before(self, number: int) -> int:
        """Return how many smaller ones are left."""
        found = 0
        while number:
            found += self._sums[number]
            number &= number - 1
        return found
