"""What is known of the artifacts of one run while it is under way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from couler.caching.graph import ArtifactGraph
from couler.caching.importance import LAYERS, Moment, Reading, reconstruction_cost
from couler.caching.invalidation import stale_by_end, stale_by_keeping
from couler.caching.progress import RunProgress
from couler.caching.restoring import RestoringCosts
from couler.caching.reuse import ReuseValues
from couler.caching.schedule import RunSchedule

__all__ = ["RunKnowledge"]

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
        if layers < 0:
            raise ValueError(f"layers is {layers}; it must be at least 0")
        self._graph = graph
        self._number = graph.number
        given = RunSchedule(graph) if order is None else order
        self._schedule = given if isinstance(given, RunSchedule) else None
        first = given.remaining() if isinstance(given, RunSchedule) else given
        self._progress = RunProgress(graph, first)
        self._jobs_left = len(graph.jobs)
        self._changes = 0
        self._is_distance_asked = False
        self._costs = RestoringCosts(graph, read_s)
        self._layers = layers
        self._kept: set[int] = set()
        self._ended: set[int] = set()
        self._moment = Moment(self._kept, self._ended)
        self._reuse = ReuseValues(graph, self._kept, self._ended, layers)
        self._is_importance_asked = False

    def start(self, job: int) -> tuple[str, ...]:
        """Take note that a job has read what it reads."""
        if not self._progress.start(job):
            return ()
        self._jobs_left -= 1
        if self._schedule is not None:
            self._schedule.start(job)
        return self._names({*self._graph.inputs[job], *self._foretold()})

    def end(self, job: int) -> tuple[str, ...]:
        """Take note that a job has ended, or that it will not run; return as `start` does."""
        if job in self._ended:
            return ()
        self._ended.add(job)
        changed: set[int] = set()
        if self._progress.start(job):
            self._jobs_left -= 1
            changed.update(self._graph.inputs[job])
        if self._schedule is not None:
            self._schedule.end(job)
        changed.update(self._foretold())
        if self._is_importance_asked:
            self._reuse.end(job)
            changed |= stale_by_end(self._graph, self._kept, job, self._layers).reuse
        return self._names(changed)

    def keep(self, key: str) -> tuple[str, ...]:
        """Take note that an artifact is kept; return those of which that changes what is known."""
        artifact = self._number[key]
        self._kept.add(artifact)
        if self._is_importance_asked:
            self._reuse.keep(artifact)
        return self._changed_by(artifact, self._costs.keep(artifact))

    def give_up(self, key: str) -> None:
        """Take note that one is kept no longer: nothing that is known of others falls by that."""
        artifact = self._number[key]
        self._kept.discard(artifact)
        if self._is_importance_asked:
            self._reuse.give_up(artifact)
        self._costs.give_up(artifact)

    def size_bytes(self, key: str) -> int:
        """Return what an artifact takes."""
        return self._graph.size_bytes[self._number[key]]

    def cost_s(self, key: str) -> float:
        """Return the seconds to have it again, by what else is kept; see `RestoringCosts`."""
        return self._costs.cost_s(self._number[key])

    def readers_left(self, key: str) -> int:
        """Return how many of its readers have not started."""
        return self._progress.readers_left(self._number[key])

    def is_read(self, key: str) -> bool:
        """Return whether one of its readers has not started."""
        return self.readers_left(key) > 0

    def distance(self, key: str) -> int | None:
        """Return which of the jobs to start, counted from 1, reads it next; None if none does."""
        if not self._is_distance_asked:
            self._is_distance_asked = True
            self._foretell()
        return self._progress.distance(self._number[key])

    def reconstruction(self, key: str, reading: Reading) -> float:
        """Return the reconstruction cost of Eq. 3; see `couler.caching.importance`."""
        self._is_importance_asked = True
        return reconstruction_cost(
            self._graph, self._moment, self._number[key], reading=reading, layers=self._layers
        )

    def reuse(self, key: str, reading: Reading) -> float:
        """Return the reuse value of Eq. 4; see `couler.caching.importance`."""
        self._is_importance_asked = True
        return self._reuse.of(self._number[key], reading)

    def _foretold(self) -> Iterable[int]:
        """Foretell the order anew if it is time; return what is further away by that."""
        self._changes += 1
        if not self._is_distance_asked or self._changes * _FORETELLINGS < self._jobs_left:
            return ()
        return self._foretell()

    def _foretell(self) -> Iterable[int]:
        self._changes = 0
        if self._schedule is None:
            return ()
        return self._progress.expect(self._schedule.remaining(), self._kept)

    def _changed_by(self, artifact: int, costs: Iterable[int]) -> tuple[str, ...]:
        """Return whose cost changed, and whose importance may have if anyone has asked for it."""
        if not self._is_importance_asked:
            return self._names(costs)
        stale = stale_by_keeping(self._graph, self._kept, artifact, self._layers)
        return self._names({*costs, *stale.reconstruction, *stale.reuse})

    def _names(self, artifacts: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._graph.artifacts[artifact] for artifact in artifacts)
