"""What a start costs: work is counted, not timed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from couler.backends.local.capacity import Capacity, Need
from couler.backends.local.demand import Grant, Lane, Request, Shape
from couler.backends.local.dispatch import Dispatcher
from couler.backends.local.limits import Limits
from couler.backends.local.locks import Hold, Locks

FEW, MANY = 50, 800
GROWTH = 2.0
"""For 16 times as many; the logarithm of their number grows less than that."""

Asked = Iterable[tuple[Shape, float]]
"""Shapes and priorities of requests."""


class Tally:
    """Counts comparisons of priorities, looks at lanes and looks at limits."""

    def __init__(self) -> None:
        self.count = 0
        tally = self

        class Priority(float):
            __hash__ = float.__hash__

            def __neg__(self) -> float:
                return Priority(-float(self))

            def __lt__(self, other: float) -> bool:
                tally.count += 1
                return float(self) < float(other)

            def __gt__(self, other: float) -> bool:
                tally.count += 1
                return float(self) > float(other)

            def __eq__(self, other: object) -> bool:
                tally.count += 1
                return float(self) == other

        class CountedLane(Lane):
            @property
            def free(self) -> int:  # type: ignore[override]  # counts what an attribute does not
                tally.count += 1
                return self._free

            @free.setter
            def free(self, free: int) -> None:
                self._free = free

        class CountedLimits(Limits):
            @property
            def reached(self) -> str | None:  # type: ignore[override]  # as above
                tally.count += 1
                return self._reached

            @reached.setter
            def reached(self, reached: str | None) -> None:
                self._reached = reached

        self.priority: Callable[[float], float] = Priority
        self.lane: Callable[[int], Lane] = CountedLane
        self.limits: Callable[[Limits], Limits] = CountedLimits


def work_of_each(
    ask: Callable[[Tally, int], Asked], number: int, folder: Path, *, jobs: int
) -> float:
    """Return the work for each request, from the first one until all have ended."""
    tally = Tally()

    async def play() -> int:
        dispatcher = Dispatcher(Capacity(jobs, 2.0, 1), Locks(folder / str(number)))
        limits, running, started = Limits(), list[Grant](), 0

        def start(grant: Grant | None) -> None:
            assert grant is not None
            running.append(grant)

        asked = list(ask(tally, number))
        for shape, priority in asked:
            dispatcher.submit(Request(shape, tally.priority(priority), limits, start))
        for _ in asked:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            dispatcher.release(running.pop(0))
            started += 1
        return started

    started = asyncio.run(play())
    return tally.count / started


def own_lanes(tally: Tally, number: int) -> Iterator[tuple[Shape, float]]:
    """Groups that each have a `max_parallel` of 1."""
    for _ in range(number):
        shape = Shape(Need(), (tally.lane(1),))
        yield from ((shape, 1.0), (shape, 2.0))


def wide_lanes(tally: Tally, number: int) -> Iterator[tuple[Shape, float]]:
    """Groups whose `max_parallel` never matters, within one whose does not matter either."""
    around = tally.lane(3 * number)
    for index in range(number):
        shape = Shape(Need(), (around, tally.lane(3)))
        yield from ((shape, float(index % 7)), (shape, 1.0))


def lane_around(tally: Tally, number: int) -> Iterator[tuple[Shape, float]]:
    """Groups that each have one, in a workflow that has one as well."""
    around = tally.lane(2)
    for index in range(number):
        shape = Shape(Need(), (around, tally.lane(1)))
        yield from ((shape, float(index)), (shape, float(-index)))


def lock_inside(tally: Tally, number: int) -> Iterator[tuple[Shape, float]]:
    """Groups with a step of the same lock."""
    for _ in range(number):
        lane = tally.lane(1)
        yield Shape(Need(), (lane,), (Hold("m"),)), 2.0
        yield Shape(Need(), (lane,)), 1.0


def no_room(tally: Tally, number: int) -> Iterator[tuple[Shape, float]]:
    """Groups of large steps, and small ones that pass them over."""
    small = Shape(Need(cpus=0.1))
    for index in range(number):
        yield Shape(Need(cpus=2.0), (tally.lane(1),)), 1.0 + index
        yield small, float(2 * index)


def no_lanes(tally: Tally, number: int) -> Iterator[tuple[Shape, float]]:
    """Many of a few shapes."""
    for index in range(number):
        yield Shape(Need()), float(index % 5)
        yield Shape(Need(jobs=0)), float(index % 3)


@pytest.mark.parametrize("jobs", [2, 10_000])
@pytest.mark.parametrize(
    "ask",
    [own_lanes, wide_lanes, lane_around, lock_inside, no_room, no_lanes],
    ids=lambda ask: ask.__name__,
)
def test_a_start_costs_hardly_more_with_many_lines(
    ask: Callable[[Tally, int], Asked], jobs: int, tmp_path: Path
) -> None:
    few, many = (work_of_each(ask, number, tmp_path, jobs=jobs) for number in (FEW, MANY))
    assert 0 < many < GROWTH * few
