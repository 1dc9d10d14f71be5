"""Training jobs that share the processors of nodes and can be moved: SpeCon's cluster, simulated.

A node has a processor of speed 1, which its jobs share evenly; each can take all of it. A job has
its seconds alone on a node, and a loss that falls by exp(-k x) with the part x of its work that is
done. A move takes a pause in which the job has nothing. Jobs begin on the nodes in turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.scheduling.simulator import ActiveJob, Share, SimulationEvent, Trace, simulate
from couler.optimizers.scheduling.migration import JobProgress, MigrationRule, Move

PAUSE_S = 5.0
"""Save and resume take less than 5 s: section III-B."""

INTERVAL_S = 30.0

FALL = {"VAE": 5.25, "Bi-RNN": 19.6, "GRU": 11.5}
"""k of the loss: after 20 % of the time 65, 98 and 90 % of the reduction is reached, Figure 1."""

ALONE_S = 215.0
"""A VAE job alone: with it the default scheduler has the mean of the paper, 275.2 s."""


@dataclass(frozen=True, slots=True)
class CurveJob:
    """A job whose loss falls exponentially."""

    name: str
    arrival: float
    work: float
    fall: float

    def loss(self, done: float) -> float:
        """Return the loss, as a share of the first one."""
        return math.exp(-self.fall * done)

    @property
    def enough(self) -> float:
        """The part of its work after which 95 % of the reduction is reached."""
        return -math.log(1 - 0.95 * (1 - math.exp(-self.fall))) / self.fall


class NoMoves:
    """The default scheduler of Kubernetes: a pod stays where it is."""

    def decide(self, now: float, jobs: Sequence[JobProgress]) -> list[Move]:
        """Move nothing."""
        return []


class EvenCounts:
    """Moves the job of the least progress while a node has two jobs more than another."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = nodes

    def decide(self, now: float, jobs: Sequence[JobProgress]) -> list[Move]:
        """Return the moves, blind to convergence; see `MigrationRule`."""
        places = {job.name: job.node for job in jobs}
        done = {job.name: job.done or 0.0 for job in jobs}
        counts = Counter(places.values())
        moves: list[Move] = []
        while True:
            most = max(self._nodes, key=lambda node: counts[node])
            least = min(self._nodes, key=lambda node: counts[node])
            if counts[most] - counts[least] < 2:
                return moves
            name = min((one for one in places if places[one] == most), key=lambda one: done[one])
            moves.append(Move(name, most, least, "nodes are uneven"))
            places[name] = least
            counts[most] -= 1
            counts[least] += 1


class ProcessorSharing:
    """A policy of the simulator: nodes share their processors, and a rule moves jobs."""

    def __init__(self, count: int, rule: MigrationRule) -> None:
        self.wake = math.inf
        self.moves: list[tuple[float, Move]] = []
        self._rule = rule
        self._names = node_names(count)
        self._places: dict[str, int] = {}
        self._paused: dict[str, float] = {}

    def shares(
        self, event: SimulationEvent[CurveJob], running: Mapping[str, ActiveJob[CurveJob]]
    ) -> dict[str, Share]:
        """Return the part of its node's processor that each job has; see `Policy`."""
        for job in event.arrived:
            self._places[job.name] = len(self._places) % len(self._names)
        if event.is_tick:
            self._move(event.now, running)
        self._paused = {
            name: until
            for name, until in self._paused.items()
            if name in running and until > event.now + 1e-9
        }
        self.wake = min(self._paused.values(), default=math.inf)
        active = [name for name in running if name not in self._paused]
        counts = Counter(self._places[name] for name in active)
        return {
            name: Share(1 / counts[place], ((place, 1 / counts[place]),))
            for name in active
            for place in [self._places[name]]
        }

    def _move(self, now: float, running: Mapping[str, ActiveJob[CurveJob]]) -> None:
        jobs = [
            JobProgress(
                name,
                self._names[self._places[name]],
                one.job.loss(one.done),
                one.done,
                one.job.work - one.left,
            )
            for name, one in running.items()
            if name not in self._paused
        ]
        for move in self._rule.decide(now, jobs):
            self.moves.append((now, move))
            self._places[move.job] = self._names.index(move.target)
            self._paused[move.job] = now + PAUSE_S


@dataclass(frozen=True)
class MigrationResult:
    """What a run comes to."""

    jobs: Sequence[CurveJob]
    trace: Trace
    moves: Sequence[tuple[float, Move]]

    @property
    def completions(self) -> dict[str, float]:
        """How long each job took from its arrival on."""
        return {job.name: self.trace.ends[job.name] - job.arrival for job in self.jobs}

    @property
    def mean(self) -> float:
        """Mean of the completion times."""
        return sum(self.completions.values()) / len(self.jobs)

    @property
    def mean_enough(self) -> float:
        """Mean of the times to 95 % of the loss reduction."""
        jobs = {job.name: job for job in self.jobs}
        done = dict.fromkeys(jobs, 0.0)
        found: dict[str, float] = {}
        for span in self.trace.spans:
            job = jobs[span.job]
            more = span.share.speed * (span.end - span.start)
            target = job.enough * job.work
            if done[job.name] < target <= done[job.name] + more:
                within = (target - done[job.name]) / span.share.speed
                found[job.name] = span.start + within - job.arrival
            done[job.name] += more
        return sum(found.values()) / len(found)


def run(
    jobs: Sequence[CurveJob], nodes: int, rule: MigrationRule, interval_s: float = INTERVAL_S
) -> MigrationResult:
    """Return what jobs come to on so many nodes under a rule."""
    policy = ProcessorSharing(nodes, rule)
    return MigrationResult(jobs, simulate(jobs, policy, tick=interval_s), policy.moves)


def node_names(count: int) -> list[str]:
    """Return names of nodes."""
    return [f"worker-{number}" for number in range(1, count + 1)]


def fixed_schedule(count: int = 20, interval_s: float = 50.0) -> list[CurveJob]:
    """Return VAE jobs that arrive one after the other: section VI-B."""
    return [
        CurveJob(f"job-{number + 1}", number * interval_s, ALONE_S, FALL["VAE"])
        for number in range(count)
    ]


def random_schedule(
    rng: np.random.Generator, count: int, within_s: float, models: Sequence[str] = tuple(FALL)
) -> list[CurveJob]:
    """Return jobs that arrive at uniform times: section VI-C.

    VAE jobs alone are as in `fixed_schedule`; mixed ones take 80 to 300 s alone, which is ours.
    """
    times = sorted(float(time) for time in rng.uniform(0, within_s, size=count))
    mixed = len(models) > 1
    return [
        CurveJob(
            f"job-{number}",
            time,
            float(rng.uniform(80, 300)) if mixed else ALONE_S,
            FALL[str(rng.choice(list(models)))],
        )
        for number, time in enumerate(times, 1)
    ]
