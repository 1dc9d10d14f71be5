"""What starts when: limits of the machine, bounds, locks, priority."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.local.capacity import Capacity, Need
from couler.backends.local.demand import Grant, Request, Shape
from couler.backends.local.dispatch import Dispatcher
from couler.backends.local.limits import CANCELLED, Limits
from couler.backends.local.lines import PATIENCE
from couler.backends.local.locks import Hold, Locks

CAPACITY = Capacity(jobs=4, cpus=2.0, memory_bytes=100, gpus=("0", "1"))


class Floor:
    """Submits named requests and notes who runs."""

    def __init__(self, folder: Path, capacity: Capacity = CAPACITY) -> None:
        self.dispatcher = Dispatcher(capacity, Locks(folder))
        self.limits = Limits()
        self.running: dict[str, Grant] = {}
        self.started: list[str] = []
        self.given_up: list[str] = []

    def submit(
        self,
        name: str,
        shape: Shape | None = None,
        priority: float = 1.0,
        limits: Limits | None = None,
    ) -> None:
        def start(grant: Grant | None) -> None:
            if grant is None:
                self.given_up.append(name)
            else:
                self.running[name] = grant
                self.started.append(name)

        shape = Shape(Need()) if shape is None else shape
        self.dispatcher.submit(Request(shape, priority, limits or self.limits, start))

    def end(self, name: str) -> None:
        self.dispatcher.release(self.running.pop(name))


def scene(work: Callable[[Floor], object], folder: Path, capacity: Capacity = CAPACITY) -> Floor:
    """Run steps of a scene, a turn of the event loop after each `yield`."""

    async def play() -> Floor:
        floor = Floor(folder, capacity)
        for _ in work(floor):  # type: ignore[attr-defined]  # a generator
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return floor

    return asyncio.run(play())


def test_jobs_bound_how_many_run(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        for number in range(6):
            floor.submit(f"s{number}")
        yield
        assert floor.started == ["s0", "s1", "s2", "s3"]
        floor.end("s2")
        yield
        assert floor.started[4:] == ["s4"]

    scene(work, tmp_path)


def test_each_gets_gpus_of_its_own(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        for number in range(3):
            floor.submit(f"s{number}", Shape(Need(gpus=1)))
        yield
        assert {grant.gpus for grant in floor.running.values()} == {("0",), ("1",)}
        floor.end("s0")
        yield
        assert floor.running["s2"].gpus == ("0",)

    scene(work, tmp_path)


def test_longest_path_starts_first_and_the_oldest_of_equals(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        floor.submit("short", priority=1)
        floor.submit("long", priority=5)
        floor.submit("also-long", priority=5)
        yield
        floor.end("long")
        yield

    floor = scene(work, tmp_path, Capacity(jobs=1, cpus=1, memory_bytes=1))
    assert floor.started == ["long", "also-long"]


def test_small_ones_pass_a_large_one_but_not_for_ever(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        floor.submit("first", Shape(Need(cpus=0.5)))
        yield
        floor.submit("large", Shape(Need(cpus=2.0)), priority=9)
        for number in range(PATIENCE + 5):
            floor.submit(f"small{number}", Shape(Need(cpus=0.1)))
        for _ in range(PATIENCE + 5):
            yield
            small = next((name for name in floor.running if name.startswith("small")), None)
            if small is not None:
                floor.end(small)
        assert len([name for name in floor.started if name.startswith("small")]) == PATIENCE
        floor.end("first")
        yield
        assert floor.started[-1] == "large"

    scene(work, tmp_path, Capacity(jobs=2, cpus=2.0, memory_bytes=1))


def test_those_of_one_lock_never_run_together(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        for name in ("a", "b"):
            floor.submit(name, Shape(Need(), locks=(Hold("m"),)))
        floor.submit("other", Shape(Need(), locks=(Hold("n"),)))
        yield
        assert floor.started == ["a", "other"]
        floor.end("a")
        yield
        assert floor.started[-1] == "b"

    scene(work, tmp_path)


def test_lock_of_another_run_is_looked_at_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Hold] = []
    take = Locks.take

    def counted(locks: Locks, name: Hold) -> bool:
        looks.append(name)
        return take(locks, name)

    async def play() -> None:
        floor, others = Floor(tmp_path), Locks(tmp_path)
        assert others.take(Hold("m"))
        monkeypatch.setattr(Locks, "take", counted)
        floor.submit("a", Shape(Need(), locks=(Hold("m"),)), priority=9)
        for number in range(50):
            floor.submit(f"s{number}")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            floor.end(f"s{number}")
        await asyncio.sleep(0.5)
        floor.dispatcher.close()
        await asyncio.sleep(0.3)

    asyncio.run(play())
    assert 2 <= len(looks) <= 4


def test_nothing_starts_once_the_dispatcher_is_closed(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        floor.submit("a", Shape(Need(), locks=(Hold("m"),)))
        yield
        floor.submit("b", Shape(Need(), locks=(Hold("m"),)))
        floor.dispatcher.close()
        floor.end("a")
        yield

    assert scene(work, tmp_path).started == ["a"]
    assert Locks(tmp_path).take(Hold("m"))


def test_end_of_the_limits_gives_up_what_waits(tmp_path: Path) -> None:
    def work(floor: Floor):  # type: ignore[no-untyped-def]
        floor.submit("runs")
        floor.submit("waits")
        yield
        floor.limits.end(CANCELLED)
        yield
        floor.end("runs")
        yield

    floor = scene(work, tmp_path, Capacity(jobs=1, cpus=1, memory_bytes=1))
    assert (floor.started, floor.given_up) == (["runs"], ["waits"])
