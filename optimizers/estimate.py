"""Estimate of a run: seconds, memory at the same time and cost, with known times of steps."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from couler.ir.policies import Profile
from couler.ir.quantity import parse_quantity
from couler.ir.rewrite import map_scopes
from couler.ir.walk import Scope, steps_by_path
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.durations import (
    Clock,
    item_counts,
    known_seconds,
    lasting_as,
    turns_of,
)

if t.TYPE_CHECKING:
    from couler.optimizers.pipeline import PassRecord


_GIB = 1 << 30
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Prices:
    """What compute costs, in any one currency."""

    cpu_hour: float | None = None
    memory_gib_hour: float | None = None
    gpu_hour: float | None = None
    currency: str = ""

    @property
    def are_known(self) -> bool:
        """Whether there is any."""
        return (self.cpu_hour, self.memory_gib_hour, self.gpu_hour) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that may be known in part."""

    value: float | None
    known: int
    steps: int

    @property
    def is_whole(self) -> bool:
        """Whether it knows all steps, so that it is no lower bound."""
        return self.known == self.steps and self.value is not None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will take."""

    seconds: Figure
    memory_bytes: Figure
    cost: Figure


def estimate(
    workflow: Workflow,
    prices: Prices | None = None,
    *,
    parts_are_barriers: bool = False,
    times: StepTimes | None = None,
) -> Estimate:
    """Estimate what a run of a workflow takes, in the model of this module."""
    census = _census(_run(with_mean_s(workflow, times)), prices)
    scopes = _run(with_path_s(workflow, times))
    usual = census.seconds_sum / census.seconds_said if census.seconds_said else 1.0
    likely = Clock(lasting_as(usual), parts_are_barriers)
    peak = _peak(_held_in_run(scopes, likely))
    return Estimate(
        seconds=_length(scopes, census, parts_are_barriers),
        memory_bytes=census.figure(peak, census.memory_said, census.memory_known),
        cost=census.figure(census.cost, census.cost_said, census.cost_known),
    )


def critical_path(
    workflow: Workflow, *, parts_are_barriers: bool = False, times: StepTimes | None = None
) -> Figure:
    """Return the `seconds` of `estimate`, without the rest of it; O(n + m)."""
    scopes = _run(with_path_s(workflow, times))
    return _length(scopes, _census(scopes, None), parts_are_barriers)


class _Held(t.NamedTuple):
    """Memory that is held from one time to another."""

    start: float
    end: float
    memory_bytes: float


class _Around(t.NamedTuple):
    """How often a step runs, by what it is in and what it states itself."""

    times: int = 1
    has_items: bool = True
    """Whether it is known how many items there are."""
    has_turns: bool = True
    """Whether it is known of those that are not all taken at the same time."""
    has_rounds: bool = True
    """Whether it is known how many rounds there are."""

    def with_step(self, step: Step, lengths: Mapping[str, int]) -> _Around:
        """Return the same for a step, or for the steps inside of it."""
        if step.foreach is None and step.loop is None:
            return self
        is_known = step.foreach is None or step.name in lengths
        is_at_once = step.foreach is None or step.foreach.max_parallel is None
        return _Around(
            self.times * lengths.get(step.name, 1),
            self.has_items and is_known,
            self.has_turns and (is_known or is_at_once),
            self.has_rounds and step.loop is None,
        )


class _Census:
    """Counts what steps say of themselves."""

    def __init__(self, prices: Prices | None) -> None:
        self.prices = prices if prices is not None and prices.are_known else None
        self.steps = 0
        self.seconds_sum = 0.0
        self.seconds_said = self.seconds_known = 0
        self.memory_said = self.memory_known = 0
        self.cost = 0.0
        self.cost_said = self.cost_known = 0

    def figure(self, value: float, said: int, known: int) -> Figure:
        return Figure(value if said else None, known, self.steps)

    def count(self, steps: Sequence[Step], around: _Around) -> None:
        """Count the steps of a scope."""
        lengths = item_counts(steps)
        for step in steps:
            here = around.with_step(step, lengths)
            if isinstance(step.action, Group):
                self.count(step.action.steps, here)
            else:
                self._count_step(step, here)

    def _count_step(self, step: Step, here: _Around) -> None:
        self.steps += 1
        seconds, memory = known_seconds(step), _memory(step)
        if seconds is not None:
            self.seconds_said += 1
            self.seconds_sum += seconds
            self.seconds_known += here.has_rounds and here.has_turns
        if memory is not None:
            self.memory_said += 1
            self.memory_known += here.has_items
        rate = None if self.prices is None else _cost_of_hour(step, self.prices)
        if rate is not None and (seconds is not None or rate == 0):
            self.cost_said += 1
            self.cost_known += here.has_items and here.has_rounds
            self.cost += here.times * rate * (seconds or 0.0) / _HOUR_S


def _run(workflow: Workflow) -> list[Sequence[Step]]:
    """Return the scopes that run if nothing fails, the workflow's own first."""
    handlers = (one.steps for one in workflow.exit_handlers if one.on != "failure")
    return [workflow.steps, *handlers]


def _census(scopes: Sequence[Sequence[Step]], prices: Prices | None) -> _Census:
    census = _Census(prices)
    for steps in scopes:
        census.count(steps, _Around())
    return census


def _length(scopes: Sequence[Sequence[Step]], census: _Census, parts_are_barriers: bool) -> Figure:
    """Return when a run ends: its own steps, then all exit handlers at the same time."""
    if not census.seconds_said:
        return census.figure(0.0, 0, 0)
    clock = Clock(lasting_as(0.0), parts_are_barriers)
    own, *handlers = scopes
    end = clock.makespan(own) + max(map(clock.makespan, handlers), default=0.0)
    return census.figure(end, census.seconds_said, census.seconds_known)


def _held_in_run(scopes: Sequence[Sequence[Step]], clock: Clock) -> list[_Held]:
    """Return what is held during a run."""
    own, *handlers = scopes
    held: list[_Held] = []
    end = _hold(own, 0.0, clock, held)
    for steps in handlers:
        _hold(steps, end, clock, held)
    return held


def _hold(steps: Sequence[Step], start: float, clock: Clock, held: list[_Held]) -> float:
    """Add what the steps of a scope hold that starts at a time; return when it ends."""
    counts = item_counts(steps)
    times = clock.times(steps)
    for step, (begin, end) in zip(steps, times, strict=True):
        _, width = turns_of(step, counts.get(step.name, 1))
        memory: float | None
        if not isinstance(step.action, Group):
            memory = _memory(step)
        elif step.foreach is None:
            _hold(step.action.steps, start + begin, clock, held)
            continue
        else:
            inside: list[_Held] = []
            _hold(step.action.steps, 0.0, clock, inside)
            memory = _peak(inside)
        if memory:
            held.append(_Held(start + begin, start + end, width * memory))
    return start + max((end for _, end in times), default=0.0)


def _peak(held: Sequence[_Held]) -> float:
    """Return the most that is held at the same time; what ends makes room for what begins."""
    changes: list[tuple[float, float]] = []
    peak = 0.0
    for one in held:
        if one.end > one.start:
            changes += ((one.start, one.memory_bytes), (one.end, -one.memory_bytes))
        else:  # over at once, so beside nothing
            peak = max(peak, one.memory_bytes)
    now = 0.0
    for _, change in sorted(changes):  # at the same time, what is given back comes first
        now += change
        peak = max(peak, now)
    return peak


def _memory(step: Step) -> float | None:
    if isinstance(step.action, Suspend):
        return 0.0
    if step.profile is not None and step.profile.memory_bytes is not None:
        return float(step.profile.memory_bytes)
    resources = step.resources
    return None if resources is None else _amount(resources.memory or resources.memory_limit)


def _cost_of_hour(step: Step, prices: Prices) -> float | None:
    """Return what a step costs while it runs; None if what it takes, or a price, is unknown."""
    if isinstance(step.action, Suspend):
        return 0.0
    resources = step.resources
    cpus = None if resources is None else _amount(resources.cpu or resources.cpu_limit)
    gpus = 0.0
    if resources is not None and resources.gpu is not None:
        gpus = float(resources.gpu.count)
    memory = _memory(step)
    gib = None if memory is None else memory / _GIB
    parts = (
        _part(cpus, prices.cpu_hour),
        _part(gib, prices.memory_gib_hour),
        _part(gpus, prices.gpu_hour),
    )
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _part(amount: float | None, price: float | None) -> float | None:
    if price == 0 or amount == 0:
        return 0.0
    if price is None:
        return 0.0 if amount is None else None
    return None if amount is None else amount * price


def _amount(quantity: str | None) -> float | None:
    try:
        amount: Decimal | None = None if quantity is None else parse_quantity(quantity)
    except ValueError:  # verification has told of it
        return None
    return None if amount is None else float(amount)


class StepTime(t.NamedTuple):
    """How long one item and one round of a step takes, in seconds."""

    path_s: float
    mean_s: float
    start_s: float = 0.0


StepTimes: t.TypeAlias = Mapping[str, StepTime]
"""By the path of the step; those that are not known are not in it."""


def begun_steps(scope: Scope, times: StepTimes) -> tuple[Step, ...]:
    """Return the steps of a scope with profiles that say how long they take in a pod that runs."""
    return _timed_steps(scope, times, lambda time: time.path_s - time.start_s)


def with_path_s(workflow: Workflow, times: StepTimes | None) -> Workflow:
    """Return a workflow whose profiles say by what paths count; O(n) for n steps."""
    return _timed(workflow, times, lambda time: time.path_s)


def with_mean_s(workflow: Workflow, times: StepTimes | None) -> Workflow:
    """Return a workflow whose profiles say what items of steps take on the mean; O(n)."""
    return _timed(workflow, times, lambda time: time.mean_s)


def times_after(record: PassRecord) -> StepTimes:
    """Return what is known of times after a pass."""
    if record.times is not None:
        return record.times
    times = record.times_before
    if not times or record.after is record.before:
        return times
    before, after = (dict(steps_by_path(flow)) for flow in (record.before, record.after))
    found: dict[str, StepTime] = {}
    for path, sources in record.sources.items():
        known = [times[one] for one in sources if one in times]
        if path in record.made_times:
            found[path] = record.made_times[path]
        elif path in times and path in sources and before[path].action == after[path].action:
            found[path] = times[path]
        elif len(known) == len(sources) and (len(known) == 1 or path in record.item_steps):
            found[path] = StepTime(
                max(one.path_s for one in known),
                statistics.fmean(one.mean_s for one in known),
                max(one.start_s for one in known),
            )
    return found


def _timed(
    workflow: Workflow, times: StepTimes | None, seconds: Callable[[StepTime], float]
) -> Workflow:
    if not times:
        return workflow
    return map_scopes(workflow, lambda scope: _timed_steps(scope, times, seconds))


def _timed_steps(
    scope: Scope, times: StepTimes, seconds: Callable[[StepTime], float]
) -> tuple[Step, ...]:
    return tuple(
        step if time is None else _lasting(step, seconds(time))
        for step, time in ((one, times.get(scope.path_of(one))) for one in scope.steps)
    )


def _lasting(step: Step, seconds: float) -> Step:
    profile = step.profile or Profile()
    if profile.seconds == seconds:
        return step
    return step.model_copy(update={"profile": profile.model_copy(update={"seconds": seconds})})
