"""Artifacts that later runs may read: what earlier runs show, and what the next one needs."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

if t.TYPE_CHECKING:
    from couler.state.ledger import Kept


class Lookups(t.Protocol):
    """How often instances of a step looked for something."""

    @property
    def lookups(self) -> int:
        """How often in all."""

    @property
    def latest(self) -> int:
        """How often for what had been used last at their path, whether or not it was kept."""

    @property
    def older(self) -> int:
        """How often for something that had been superseded there."""

    @property
    def seconds(self) -> float:
        """How long the instance took that ran last."""


@dataclass(frozen=True, slots=True)
class Course:
    """How far a run is that uses the cache now."""

    workflow: str = ""
    ranks: Mapping[str, int] = field(default_factory=dict)
    here: str = ""
    readers: Mapping[str, Sequence[str]] = field(default_factory=dict)


def chance_of_use(uses: Lookups | None, superseded_by: int) -> float:
    r"""Return how likely the next run that comes to a step needs what is kept of it."""
    lookups, latest, older = (0, 0, 0) if uses is None else (uses.lookups, uses.latest, uses.older)
    hits = older if superseded_by else latest
    # Above some hundreds nobody could tell it from 0, and a float could not tell it apart.
    return float((hits + 1) / (lookups + 2) * 2.0 ** -min(superseded_by, 500))


def expected_distance(gap: float, period: float, chance: float) -> float:
    r"""Return after how many steps something is read, if each run may or may not read it."""
    return gap + (1.0 / chance - 1.0) * period


class LaterRuns:
    """What a policy knows where later runs are the readers (`couler.caching.policy.Knowledge`)."""

    def __init__(
        self,
        capacity_bytes: int,
        offered: Kept | None,
        kept: Callable[[], Sequence[Kept]],
        lookups: Callable[[], Mapping[tuple[str, str], Lookups]],
        *,
        clock: int,
        age: float = 0.0,
        course: Course | None = None,
    ) -> None:
        self.capacity_bytes = capacity_bytes
        self._known = {} if offered is None else {offered.key: offered}
        self._is_loaded = False
        self._chances: dict[tuple[str, str, int], float] = {}
        self._read_kept = kept
        self._read_lookups = lookups
        self._clock = clock
        self.age = age
        self._course = course or Course()

    def offering(self, offered: Kept) -> LaterRuns:
        """Return the same, where what was offered has another credit."""
        made = copy(self)  # with what was worked out of the others
        made._known = self._known | {offered.key: offered}
        return made

    def size_bytes(self, key: str) -> int:
        """Return what an artifact takes."""
        return self._of(key).size_bytes

    def cost_s(self, key: str) -> float:
        """Return how long its step took, and what would have to run before it."""
        return self._cost_s(self._of(key))

    def readers_left(self, key: str) -> float:
        """Return the chance that the next run of its workflow needs it."""
        return self._expected(self._of(key))

    def is_read(self, key: str) -> bool:
        """Return True: a later run may need anything."""
        return True

    def distance(self, key: str) -> float:
        """Return after how many steps that ask for the cache it is expected to be read."""
        artifact, course = self._of(key), self._course
        rank = course.ranks.get(artifact.place) if artifact.workflow == course.workflow else None
        if rank is None:
            gap = period = max(1, self._clock - artifact.used)
        else:
            period = len(course.ranks)
            gap = (rank - course.ranks.get(course.here, rank)) % period or period
        return expected_distance(gap, period, self._expected(artifact))

    def admitted(self, key: str) -> int:
        """Return which use of the cache admitted it."""
        return self._of(key).admitted

    def last_used(self, key: str) -> int:
        """Return which use of the cache was its last."""
        return self._of(key).used

    def uses(self, key: str) -> int:
        """Return how often it was used: its admission, and its hits."""
        return self._of(key).hits + 1

    def credit(self, key: str) -> float:
        """Return what the policy told of it at its last use."""
        return self._of(key).credit

    def reconstruction(self, key: str, reading: str) -> float:
        """Return the cost of Eq. 3 along the longest path of what is not kept, in seconds."""
        return self._cost_s(self._of(key))

    def reuse(self, key: str, reading: str) -> float:
        """Return the value of Eq. 4 with the expected readers at their distance, as one."""
        return self.readers_left(key) / self.distance(key)

    def _of(self, key: str) -> Kept:
        # Asked for some ten thousand artifacts a decision.
        try:
            return self._known[key]
        except KeyError:
            return self._load()[key]

    def _load(self) -> Mapping[str, Kept]:
        """Return what is kept, and what is offered, which takes the place of what has its key."""
        if not self._is_loaded:
            self._known = {one.key: one for one in self._read_kept()} | self._known
            self._is_loaded = True
        return self._known

    def _cost_s(self, artifact: Kept) -> float:
        if not self._is_single(artifact):
            return artifact.cost_s
        return artifact.cost_s + self._demand.before_s(artifact.place)

    def _expected(self, artifact: Kept) -> float:
        """Return the chance that the next run of its workflow needs an artifact."""
        chance = self._chance(artifact)
        if artifact.superseded or not self._is_single(artifact):
            return chance
        return chance * self._demand.need(artifact.place)

    def _is_single(self, artifact: Kept) -> bool:
        """Return whether it is of the workflow that runs now, where that has no items or rounds."""
        course = self._course
        return (
            bool(course.readers)
            and artifact.workflow == course.workflow
            and artifact.path == artifact.place
        )

    @cached_property
    def _demand(self) -> Demand:
        course = self._course
        newest: dict[str, Kept] = {}
        for artifact in self._load().values():
            if self._is_single(artifact) and not artifact.superseded:
                before = newest.get(artifact.place)
                if before is None or before.used < artifact.used:
                    newest[artifact.place] = artifact
        standings = {place: self._standing(place, newest.get(place)) for place in course.ranks}
        return Demand(course.readers, standings, sorted(course.ranks, key=course.ranks.__getitem__))

    def _standing(self, place: str, kept: Kept | None) -> Standing:
        uses = self._lookups.get((self._course.workflow, place))
        latest, seconds = (0, 0.0) if uses is None else (uses.latest, uses.seconds)
        if kept is None:
            return Standing(latest, seconds)
        return Standing(latest, seconds, kept.admitted, kept.used)

    def _chance(self, artifact: Kept) -> float:
        place = artifact.workflow, artifact.place, artifact.superseded
        chance = self._chances.get(place)
        if chance is None:
            uses = self._lookups.get(place[:2])
            chance = self._chances[place] = chance_of_use(uses, artifact.superseded)
        return chance

    @cached_property
    def _lookups(self) -> Mapping[tuple[str, str], Lookups]:
        return self._read_lookups()


LEAST_NEED = 0.01
"""How likely something is needed at least though its readers are kept: they may go themselves."""


class Standing(t.NamedTuple):
    """How a place of a workflow stands in the cache: a step, whatever its items and rounds."""

    latest: int
    seconds: float
    admitted: int | None = None
    used: int | None = None


class Demand:
    r"""How likely something is needed, and what has to run before it, by what else is kept."""

    def __init__(
        self,
        readers: Mapping[str, Sequence[str]],
        standings: Mapping[str, Standing],
        order: Sequence[str],
    ) -> None:
        self._readers = readers
        self._standings = standings
        self._made: dict[str, list[str]] = {place: [] for place in order}
        for place, its in readers.items():
            for reader in its:
                self._made.setdefault(reader, []).append(place)
        self._since: dict[str, int] = {}
        self._need: dict[str, float] = {}
        self._before_s: dict[str, float] = {}
        for place in order:
            self._since[place] = self._made_at(place)
        covers = {place: self._cover(place) for place in reversed(order)}
        for place in order:
            self._before_s[place] = self._wait_s(place, covers)

    def need(self, place: str) -> float:
        """Return how likely a run that asks for what was used last at a place needs it."""
        return self._need.get(place, 1.0)

    def before_s(self, place: str) -> float:
        """Return the seconds of what has to run before a step of the place if that has to run."""
        return self._before_s.get(place, 0.0)

    def _made_at(self, place: str) -> int:
        """Return since when what was used last at a place can have been read."""
        admitted = self._standing(place).admitted
        if admitted is not None:
            return admitted
        return max((self._since.get(before, 0) for before in self._made[place]), default=0)

    def _cover(self, place: str) -> _Product:
        """Work out what is needed of a place; all that reads it is known."""
        readers = self._readers.get(place, ())
        covers = _Product({reader: self._covers(reader, place) for reader in readers})
        is_passed = bool(covers.factors)
        self._need[place] = max(LEAST_NEED, 1.0 - covers.whole()) if is_passed else 1.0
        return covers

    def _covers(self, reader: str, place: str) -> float:
        standing = self._standing(reader)
        likely = min(1.0, (standing.latest + 1) / (self._standing(place).latest + 2))
        if standing.used is not None:
            return likely if standing.used > self._since[place] else 0.0
        return likely * (1.0 - self._need.get(reader, 1.0))

    def _wait_s(self, place: str, covers: Mapping[str, _Product]) -> float:
        waits = (
            covers[before].without(place)
            * (self._standing(before).seconds + self._before_s[before])
            for before in self._made[place]
            if self._standing(before).used is None
        )
        return max(waits, default=0.0)

    def _standing(self, place: str) -> Standing:
        return self._standings.get(place, _UNKNOWN)


_UNKNOWN = Standing(0, 0.0)


class _Product:
    """A product of which one factor can be left out at a time."""

    def __init__(self, factors: Mapping[str, float]) -> None:
        self.factors = factors
        self._zeros = sum(not factor for factor in factors.values())
        self._others = math.prod(factor for factor in factors.values() if factor)

    def whole(self) -> float:
        return 0.0 if self._zeros else self._others

    def without(self, name: str) -> float:
        factor = self.factors[name]
        if not factor:
            return self._others if self._zeros == 1 else 0.0
        return 0.0 if self._zeros else self._others / factor
