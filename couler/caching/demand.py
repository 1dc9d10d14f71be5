"""What the next run of a workflow needs of what is kept, where no step runs that nobody needs."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping, Sequence

__all__ = ["LEAST_NEED", "Demand", "Standing"]

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
