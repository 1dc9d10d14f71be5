"""Algorithm 2 of the Couler paper: which artifacts a cache keeps as jobs end, and why."""
# Couler: Unified Machine Learning Workflow Optimization in Cloud, IV-A2, Algorithm 2.

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from couler.caching.eviction import Candidate, Shortage, spare_unneeded
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import ImportanceFactor, Moment, Score

__all__ = ["Form", "Step", "Trace", "run_algorithm_2"]

Form: t.TypeAlias = t.Literal["printed", "mended"]

Action: t.TypeAlias = t.Literal["keep", "evict", "refuse", "put back", "pass over", "give up"]
"""What was done: `pass over` is the newcomer of which nothing is decided; `give up` is the end of a
loop that has nothing left to remove, with more kept than there is room for."""


class Step(t.NamedTuple):
    """One thing that the algorithm did."""

    job: int
    newcomer: int
    action: Action
    artifact: int
    scores: Mapping[int, Score]
    used_bytes: int
    reason: str


@dataclass(frozen=True)
class Trace:
    """All that the algorithm did, in order."""

    graph: ArtifactGraph
    capacity_bytes: int
    factor: ImportanceFactor
    form: Form
    steps: tuple[Step, ...]
    kept: tuple[int, ...]

    def to_text(self) -> str:
        """Return what was done, a line for each step, with the scores that decided it."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield (
            f"Algorithm 2, {self.form}, with the equations as in the reading "
            f"{self.factor.reading!r}; room for {self.capacity_bytes} bytes"
        )
        job: int | None = None
        for step in self.steps:
            if step.job != job:
                job = step.job
                yield f"{self.graph.jobs[job]} has ended"
            least = min(step.scores, key=lambda one: step.scores[one].importance, default=None)
            for artifact, score in step.scores.items():
                yield self._score(artifact, score, is_least=artifact == least)
            above = " above the room" if step.used_bytes > self.capacity_bytes else ""
            yield (
                f"  {step.action} {self.graph.artifacts[step.artifact]}: {step.reason}; "
                f"{step.used_bytes} bytes used{above}"
            )

    def _score(self, artifact: int, score: Score, *, is_least: bool) -> str:
        mark = "  least" if is_least else ""
        return (
            f"    {self.graph.artifacts[artifact]}: I = {score.importance:.3f} of "
            f"L = {score.reconstruction:g}, F = {score.reuse:g}, V = {score.caching:g}{mark}"
        )


def run_algorithm_2(
    graph: ArtifactGraph,
    capacity_bytes: int,
    *,
    factor: ImportanceFactor | None = None,
    form: Form = "mended",
    jobs: Sequence[int] | None = None,
) -> Trace:
    """Decide on the artifacts of jobs as these end."""
    # Algorithm 2.
    if capacity_bytes <= 0:
        raise ValueError(f"capacity_bytes is {capacity_bytes}; it must be above 0")
    if form not in ("printed", "mended"):
        raise ValueError(f"{form!r} is no form of Algorithm 2; there are: printed, mended")
    ends = graph.order if jobs is None else jobs
    _check_order(graph, ends)
    selection = _Selection(graph, capacity_bytes, factor or ImportanceFactor())
    decide = selection.decide_as_printed if form == "printed" else selection.decide
    for job in ends:
        selection.ended.add(job)
        for artifact in graph.outputs[job]:
            selection.job, selection.newcomer = job, artifact
            decide(artifact)
    return Trace(
        graph,
        capacity_bytes,
        selection.factor,
        form,
        tuple(selection.steps),
        tuple(selection.kept),
    )


@dataclass
class _Selection:
    """What is kept, and what was done so far."""

    graph: ArtifactGraph
    capacity: int
    factor: ImportanceFactor
    kept: dict[int, None] = field(default_factory=dict)
    """`N_c`, in the order in which it came."""
    used: int = 0
    """`C_u`."""
    ended: set[int] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    job: int = 0
    newcomer: int = 0

    def decide(self, artifact: int) -> None:
        """Keep an artifact, or refuse it."""
        size = self.graph.size_bytes[artifact]
        if size > self.capacity:
            self._note("refuse", artifact, f"takes {size} bytes, more than all there is room for")
            return
        before = dict(self.kept)
        missing = self.used + size - self.capacity
        removed: list[int] = []
        while self.used + size > self.capacity:
            scores = self._scores((*self.kept, artifact))
            least = _least(scores)
            room = f"which takes {size} bytes, and {self.capacity - self.used} are free"
            if least == artifact:
                self._note("refuse", artifact, f"worth the least of all, {room}", scores)
                self._put_back(
                    before, reversed(removed), f"{self._name(self.newcomer)} does not come"
                )
                return
            removed.append(least)
            self._evict(least, f"worth less than {self._name(artifact)}, {room}", scores)
        self._put_back(before, self._unneeded(removed, missing), "there is room without its going")
        self._keep(artifact, f"takes {size} bytes, and {self.capacity - self.used} are free")

    def decide_as_printed(self, artifact: int) -> None:
        """Do what lines 10 to 14 say."""
        if self.used < self.capacity:
            why = f"{self.used} bytes used are less than {self.capacity} (line 10)"
            self._keep(artifact, why)
            return
        scores = self._scores(self.kept)
        if self.used == self.capacity:
            why = f"{self.used} bytes used are {self.capacity}, for which line 24 does nothing"
            self._note("pass over", artifact, why, scores)
        while self.used > self.capacity:
            if not scores:
                self._note("give up", artifact, "nothing is left that has a score (line 25)")
                return
            least = _least(scores)
            if artifact not in self.kept:
                self._keep(artifact, f"{self._name(least)} is another one (line 26)")
            self._evict(least, "worth the least of what has a score (line 25)", scores)
            scores = {one: score for one, score in scores.items() if one != least}

    def _name(self, artifact: int) -> str:
        return self.graph.artifacts[artifact]

    def _scores(self, artifacts: Iterable[int]) -> dict[int, Score]:
        """Return the scores of what would be kept if all of these were."""
        chosen = dict.fromkeys(artifacts)
        moment = Moment(chosen.keys(), self.ended)
        return {one: self.factor.score(self.graph, moment, one, self.capacity) for one in chosen}

    def _keep(self, artifact: int, why: str, action: Action = "keep") -> None:
        self.kept[artifact] = None
        self.used += self.graph.size_bytes[artifact]
        self._note(action, artifact, why)

    def _evict(self, artifact: int, why: str, scores: Mapping[int, Score]) -> None:
        del self.kept[artifact]
        self.used -= self.graph.size_bytes[artifact]
        self._note("evict", artifact, why, scores)

    def _unneeded(self, removed: Iterable[int], missing: int) -> list[int]:
        """Return what of the removed may stay, the last first."""
        named = {self._name(one): one for one in removed}
        going = [Candidate(0.0, 0, name, self.graph.size_bytes[one]) for name, one in named.items()]
        return [named[one.key] for one in spare_unneeded(going, Shortage(missing))[1]]

    def _put_back(self, before: Iterable[int], removed: Iterable[int], why: str) -> None:
        """Keep what was removed again, at its place among what was kept before."""
        for artifact in removed:
            self._keep(artifact, why, "put back")
        self.kept = {one: None for one in before if one in self.kept}

    def _note(
        self, action: Action, artifact: int, why: str, scores: Mapping[int, Score] | None = None
    ) -> None:
        self.steps.append(
            Step(self.job, self.newcomer, action, artifact, scores or {}, self.used, why)
        )


def _least(scores: Mapping[int, Score]) -> int:
    """Return what has the least importance, of equals the first."""
    return min(scores, key=lambda artifact: scores[artifact].importance)


def _check_order(graph: ArtifactGraph, jobs: Sequence[int]) -> None:
    ended: set[int] = set()
    for job in jobs:
        if job in ended:
            raise ValueError(f"jobs: {graph.jobs[job]} ends twice")
        for before in graph.predecessors[job]:
            if before not in ended:
                raise ValueError(f"jobs: {graph.jobs[job]} ends before {graph.jobs[before]}")
        ended.add(job)
