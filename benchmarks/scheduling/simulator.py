"""The simulator: jobs have work, a policy gives each a speed, and events are when that can change.

Time is continuous. Events are arrivals, ends of jobs, ticks, and the times that a policy asks to
be woken at. At each event the policy says where each job that has arrived runs and how fast;
between events speeds do not change, so the work left falls linearly. Nothing is random here.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_EPSILON = 1e-9


class SimulatedJob(t.Protocol):
    """What the simulator reads of a job."""

    @property
    def name(self) -> str:
        """Unique among the jobs."""

    @property
    def arrival(self) -> float:
        """When it arrives."""

    @property
    def work(self) -> float:
        """What has to be done, in units of speed times time."""


J = t.TypeVar("J", bound=SimulatedJob)


@dataclass(frozen=True, slots=True)
class Share:
    """What a job has from one event to the next."""

    speed: float
    machines: tuple[tuple[int, float], ...] = ()
    """Machines by number, and how much of the job is there."""


@dataclass(slots=True)
class ActiveJob(t.Generic[J]):
    """A job that has arrived and not ended."""

    job: J
    left: float

    @property
    def done(self) -> float:
        """The part of its work that is done, from 0 to 1."""
        return 1.0 - self.left / self.job.work


@dataclass(frozen=True, slots=True)
class SimulationEvent(t.Generic[J]):
    """What has happened at a time."""

    now: float
    arrived: Sequence[J]
    ended: Sequence[str]
    is_tick: bool


class Policy(t.Protocol[J]):
    """Says where jobs run; `wake` is the latest time of its next decision."""

    wake: float

    def shares(
        self, event: SimulationEvent[J], running: Mapping[str, ActiveJob[J]]
    ) -> Mapping[str, Share]:
        """Return what each job has from now on; one that is not named waits."""
        ...


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A stretch of time in which a job has one share."""

    job: str
    start: float
    end: float
    share: Share


@dataclass(slots=True)
class Trace:
    """What has happened."""

    spans: list[TraceSpan] = field(default_factory=list)
    ends: dict[str, float] = field(default_factory=dict)

    @property
    def makespan(self) -> float:
        """When the last job ends."""
        return max(self.ends.values(), default=0.0)


def simulate(
    jobs: Iterable[J], policy: Policy[J], *, tick: float, until: float = math.inf
) -> Trace:
    """Run jobs under a policy until all have ended, or until a time.

    Raises
    ------
    RuntimeError
        The policy lets nothing run though nothing is to come.
    """
    waiting = sorted(jobs, key=lambda job: job.arrival)[::-1]
    running: dict[str, ActiveJob[J]] = {}
    trace = Trace()
    now, ticks, idle = 0.0, 0, 0
    ended: list[str] = []
    while (waiting or running or ended) and now < until - _EPSILON:
        arrived = []
        while waiting and waiting[-1].arrival <= now + _EPSILON:
            arrived.append(waiting.pop())
            running[arrived[-1].name] = ActiveJob(arrived[-1], arrived[-1].work)
        is_tick = now >= ticks * tick - _EPSILON
        ticks += is_tick
        shares = policy.shares(SimulationEvent(now, arrived, ended, is_tick), running)
        times = [until, ticks * tick, policy.wake, *(job.arrival for job in waiting[-1:])]
        times += [now + running[name].left / one.speed for name, one in shares.items() if one.speed]
        then = min(times)
        idle = 0 if shares or waiting else idle + 1
        if idle > 1000:
            raise RuntimeError(f"no job runs from {now} on, and {len(running)} have not ended")
        ended = []
        for name, share in shares.items():
            trace.spans.append(TraceSpan(name, now, then, share))
            running[name].left -= share.speed * (then - now)
            if running[name].left <= _EPSILON * running[name].job.work:
                del running[name]
                ended.append(name)
                trace.ends[name] = then
        now = then
    return trace
