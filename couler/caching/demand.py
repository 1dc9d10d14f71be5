"""What the next run of a workflow needs of what is kept, where no step runs that nobody needs.

A step whose outputs are gone is passed if all that reads them is kept, or passed itself
(`couler.ir.evaluation.foresight`). So what lies before a step that is kept is worth little, and
what is lost with a step is also what has to run for it.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping, Sequence

__all__ = ["LEAST_NEED", "Demand", "Standing"]

LEAST_NEED = 0.01
"""How likely something is needed at least though its readers are kept: they may go themselves."""


class Standing(t.NamedTuple):
    """How a place of a workflow stands in the cache: a step, whatever its items and rounds.

    Attributes
    ----------
    latest
        How often it was asked there for what had been used last, at least 0.
    seconds
        How long the step took, the last time.
    admitted, used
        Which uses of the cache admitted what was used last there, and were its last use; None if
        that is not kept.
    """

    latest: int
    seconds: float
    admitted: int | None = None
    used: int | None = None


class Demand:
    r"""How likely something is needed, and what has to run before it, by what else is kept.

    Parameters
    ----------
    readers
        For each place that is passed where nobody needs it, the places that read it, one or more.
        Others are needed whenever a run comes there.
    standings
        How each place stands. One that is missing took no time, and nothing of it is kept.
    order
        The places in an order in which they can run.

    Notes
    -----
    A reader r covers a place p if r needs nothing of p in a run that asks at p for what was used
    last. If that of r is kept, and was made of what was last made before it, this is the chance
    that the run asks for it at r as well. Keys of r contain those of p, so the runs that did so at
    r are some of those at p, and by Laplace's rule of succession

    .. math:: covers(r, p) = \min\{1, (latest(r) + 1) / (latest(p) + 2)\}

    If it is not kept, r is passed unless it is needed itself: the same times :math:`1 - need(r)`,
    or 0 if r is never passed. What changes for one reader is taken to say nothing of others:

    .. math:: need(p) = \max\{LEAST\_NEED, 1 - \prod_{r} covers(r, p)\}

    For p to run, whatever it reads must be there. What is not kept runs first, unless that runs
    for another reader anyway:

    .. math:: before(p) = \max_{b\ not\ kept} \Big(\prod_{r \ne p} covers(r, b)\Big)
              (seconds(b) + before(b))

    over the places b that p reads and that can be passed: the longest path of the ancestors that
    are not kept. O(n + m) for n places and m reads.

    Examples
    --------
    A chain of three, of which the last is never passed and is asked for something new about each
    other time. Nothing is kept of the first, so whoever needs the second waits for both.

    >>> chain = {"load": ["clean"], "clean": ["fit"]}
    >>> standings = {"load": Standing(6, 30.0), "clean": Standing(6, 20.0, 1, 1),
    ...              "fit": Standing(3, 60.0, 2, 2)}
    >>> demand = Demand(chain, standings, ["load", "clean", "fit"])
    >>> demand.need("clean"), demand.before_s("clean"), demand.before_s("fit")
    (0.5, 30.0, 0.0)
    """

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
