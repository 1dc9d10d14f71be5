"""The order of starts, against a plain reading of the model that looks at all that waits."""

from __future__ import annotations

import asyncio
import itertools
import typing as t
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from couler.backends.local import lines
from couler.backends.local.capacity import Capacity, Need
from couler.backends.local.demand import Grant, Lane, Request, Shape
from couler.backends.local.dispatch import Dispatcher
from couler.backends.local.limits import CANCELLED, Limits
from couler.backends.local.locks import Hold, Locks

CAPACITY = Capacity(jobs=3, cpus=2.0, memory_bytes=100, gpus=("0", "1"))
WIDTHS = (1, 2, 1, 3)

NEEDS = (
    Need(),
    Need(jobs=0),
    Need(cpus=0.5),
    Need(cpus=2.0),
    Need(memory_bytes=60),
    Need(gpus=1),
    Need(jobs=0, gpus=2),
)
M, N, TWO = Hold("m"), Hold("n"), Hold("two", 2, "semaphore")
PATHS = ((), (0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2), (3, 0, 1))


@dataclass(frozen=True)
class Asked:
    """A shape; `path` has the places of its lanes in WIDTHS."""

    need: Need
    path: tuple[int, ...]
    locks: tuple[Hold, ...]


@dataclass(frozen=True)
class Submit:
    """A request comes."""

    asked: Asked
    priority: float
    group: int


@dataclass(frozen=True)
class Release:
    """One of those that run ends."""

    which: int


@dataclass(frozen=True)
class EndLimits:
    """The limits of a group end; those that come later have new ones."""

    group: int


@dataclass(frozen=True)
class Take:
    """Another run takes a place of a lock, if one is free."""

    lock: Hold


@dataclass(frozen=True)
class GiveBack:
    """Another run gives back a place of a lock, if it has one."""

    lock: Hold


Event: t.TypeAlias = Submit | Release | EndLimits | Take | GiveBack | t.Literal["look", "close"]
"""`look` is the time after which the locks of other runs are looked at again."""

SHAPES = st.builds(
    Asked,
    need=st.sampled_from(NEEDS),
    path=st.sampled_from(PATHS),
    locks=st.sampled_from(((), (), (), (M,), (N,), (TWO,), (M, N), (N, TWO))),
)
OFTEN = ("submit",) * 10 + ("release",) * 7 + ("end", "take", "give back", "look")


@st.composite
def runs(draw: st.DrawFn) -> list[list[Event]]:
    """Draw what happens in the turns of the event loop."""
    few = draw(st.lists(SHAPES, min_size=2, max_size=10))
    kinds: dict[str, st.SearchStrategy[Event]] = {
        "submit": st.builds(
            Submit,
            asked=st.sampled_from(few),
            priority=st.integers(0, 3).map(float),
            group=st.integers(0, 2),
        ),
        "release": st.builds(Release, st.integers(0, 9)),
        "end": st.builds(EndLimits, st.integers(0, 2)),
        "take": st.builds(Take, st.sampled_from((M, N, TWO))),
        "give back": st.builds(GiveBack, st.sampled_from((M, N, TWO))),
        "look": st.just("look"),
    }
    event = st.sampled_from(OFTEN).flatmap(kinds.__getitem__)
    turns = st.lists(st.lists(event, min_size=1, max_size=3), min_size=20, max_size=60)
    return [*draw(turns), ["close"], [Release(0)], [Release(0)]]


@dataclass(eq=False)
class Waiting:
    """A request of the model."""

    name: str
    submit: Submit
    passed_over: int = 0

    @property
    def asked(self) -> Asked:
        return self.submit.asked


@dataclass
class Model:
    """What the dispatcher does, in the words of its description and without a thought of cost."""

    patience: int
    others: Counter[Hold]
    """The places of locks that another run has."""
    log: list[str] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    """The oldest first."""
    running: dict[str, tuple[Asked, tuple[str, ...]]] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=lambda: list(CAPACITY.gpus))
    elsewhere: Counter[Hold] = field(default_factory=Counter)
    """Those that it had at the last look."""
    is_closed: bool = False

    def submit(self, name: str, submit: Submit) -> None:
        self.waiting.append(Waiting(name, submit))

    def release(self, name: str) -> None:
        _, gpus = self.running.pop(name)
        self.gpus.extend(gpus)

    def end_limits(self, group: int) -> None:
        for request in [it for it in self.waiting if it.submit.group == group]:
            self.waiting.remove(request)
            self.log.append(f"{request.name} given up")

    def look(self) -> None:
        self.elsewhere.clear()
        self.start_all()

    def start_all(self) -> None:
        while not self.is_closed and (request := self.choose()) is not None:
            need = request.asked.need
            gpus = tuple(self.gpus[: need.gpus])
            del self.gpus[: need.gpus]
            self.waiting.remove(request)
            self.running[request.name] = (request.asked, gpus)
            self.log.append(f"{request.name} {gpus}")

    def choose(self) -> Waiting | None:
        before: list[Waiting] = []
        for request in self.heads():
            asked = request.asked
            if self.is_lane_full(asked) or any(map(self.is_known_full, asked.locks)):
                continue
            if not self.has_room(asked.need):
                if request.passed_over >= self.patience:
                    return None
                before.append(request)
            elif full := [lock for lock in asked.locks if not self.free(lock)]:
                self.elsewhere[full[0]] = full[0].places - self.ours(full[0])
                return self.choose()  # what waits for it keeps nothing waiting
            else:
                for other in before:
                    other.passed_over += 1
                return request
        return None

    def heads(self) -> list[Waiting]:
        """Return what comes first of those that ask for the same, in the order of importance."""
        first: dict[object, Waiting] = {}
        for request in sorted(self.waiting, key=lambda it: -it.submit.priority):
            first.setdefault(request.asked, request)
        return list(first.values())

    def ours(self, lock: Hold) -> int:
        return sum(asked.locks.count(lock) for asked, _ in self.running.values())

    def free(self, lock: Hold) -> int:
        return lock.places - self.ours(lock) - self.others[lock]

    def is_known_full(self, lock: Hold) -> bool:
        return self.ours(lock) + self.elsewhere[lock] >= lock.places

    def is_lane_full(self, asked: Asked) -> bool:
        paths = [other.path for other, _ in self.running.values()]
        return any(sum(lane in path for path in paths) >= WIDTHS[lane] for lane in asked.path)

    def has_room(self, need: Need) -> bool:
        needs = [need, *(asked.need for asked, _ in self.running.values())]
        return (
            sum(it.jobs for it in needs) <= CAPACITY.jobs
            and sum(it.cpus for it in needs) <= CAPACITY.cpus
            and sum(it.memory_bytes for it in needs) <= CAPACITY.memory_bytes
            and sum(it.gpus for it in needs) <= len(CAPACITY.gpus)
        )


class SharedLocks(Locks):
    """Locks that another run, of the test, has as well."""

    def __init__(self, others: Counter[Hold]) -> None:
        super().__init__(Path())
        self._others = others
        self._ours = Counter[Hold]()

    def take(self, hold: Hold) -> bool:
        assert self._ours[hold] < hold.places
        is_free = self._ours[hold] + self._others[hold] < hold.places
        self._ours[hold] += is_free
        return is_free

    def release(self, hold: Hold) -> None:
        self._ours[hold] -= 1


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when it is told to."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Floor:
    """The dispatcher, asked in the same way as the model."""

    def __init__(self, others: Counter[Hold]) -> None:
        self.dispatcher = Dispatcher(CAPACITY, SharedLocks(others))
        self.log: list[str] = []
        self.running: dict[str, Grant] = {}
        self.requests: dict[str, Request] = {}
        self._lanes = [Lane(width) for width in WIDTHS]
        self._limits = [Limits() for _ in range(3)]

    def submit(self, name: str, submit: Submit) -> None:
        def start(grant: Grant | None) -> None:
            if grant is None:
                self.log.append(f"{name} given up")
            else:
                self.running[name] = grant
                self.log.append(f"{name} {grant.gpus}")

        asked = submit.asked
        lanes = tuple(self._lanes[lane] for lane in asked.path)
        shape = Shape(asked.need, lanes, asked.locks)
        limits = self._limits[submit.group]
        self.requests[name] = request = Request(shape, submit.priority, limits, start)
        self.dispatcher.submit(request)

    def release(self, name: str) -> None:
        self.dispatcher.release(self.running.pop(name))

    def end_limits(self, group: int) -> None:
        limits, self._limits[group] = self._limits[group], Limits()
        limits.end(CANCELLED)

    async def turn(self) -> None:
        for _ in range(4):  # a look at the locks takes more than one
            await asyncio.sleep(0)


async def play(run: list[list[Event]], patience: int) -> None:
    """Have the model and the dispatcher go through the same, and compare them at each turn."""
    others = Counter[Hold]()
    model, floor = Model(patience, others), Floor(others)
    loop = t.cast(Clock, asyncio.get_running_loop())
    names = itertools.count()
    for events in run:
        for event in events:
            match event:
                case Submit():
                    name = f"r{next(names)}"
                    model.submit(name, event)
                    floor.submit(name, event)
                case Release(which) if model.running:
                    name = list(model.running)[which % len(model.running)]
                    model.release(name)
                    floor.release(name)
                case EndLimits(group):
                    model.end_limits(group)
                    floor.end_limits(group)
                case Take(lock) if model.free(lock):
                    others[lock] += 1
                case GiveBack(lock) if others[lock]:
                    others[lock] -= 1
                case "close":
                    model.is_closed = True
                    floor.dispatcher.close()
        model.start_all()
        await floor.turn()
        if "look" in events:
            model.look()
            loop.now += 1.0
            await floor.turn()
        assert floor.log == model.log
        passed_over = {it.name: it.passed_over for it in model.waiting}
        assert {name: floor.requests[name].passed_over for name in passed_over} == passed_over


@pytest.mark.nightly
@settings(max_examples=3 * settings().max_examples)  # fewer do not meet all that can go wrong
@given(runs(), st.integers(1, 3))
@pytest.mark.slow
def test_order_is_that_of_the_model(run: list[list[Event]], patience: int) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner(loop_factory=Clock) as runner,
    ):
        patch.setattr(lines, "PATIENCE", patience)
        runner.run(play(run, patience))
