"""SpeCon and a rule by remaining work: which running training jobs to move to another node.

*Speculative Container Scheduling for Deep Learning Applications in a Kubernetes Cluster*, Mao et
al., 2020. A rule is asked at intervals, and returns moves: a job is saved, and restored on another
node. What the paper leaves open is settled so:

- The gain is the change of the loss in an interval, as a share of the first loss that was reported,
  since the threshold alpha is a percentage.
- A job changes its category once in an interval: line 10 of Algorithm 1 does not see what line 7
  did, and lines 11 and 12 move from WC to CC, as the text has it.
- A gain equal to alpha is not below it.
- A job that is to stay (Algorithm 2, line 9) is not looked at again, but by Algorithm 3.
- A job that has reported nothing since the last interval has a gain of 0.
- The duration of Algorithm 3 is counted from Algorithm 2's decision, as its notation has it.
- Algorithm 3 runs at each interval, on jobs that Algorithm 2 has decided on, and moves each once.
  It takes no job from a node that has no more than one job more than the other: the worker that
  lines 21 and 27 test is the one that receives.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Category: t.TypeAlias = t.Literal["progressing", "watching", "converged"]

WEIGHTS: dict[Category, float] = {"progressing": 2.0, "watching": 1.5, "converged": 1.0}
"""The weights of Algorithm 2, section VI-A2."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What is known of a running job.

    Attributes
    ----------
    name, node
        The job, and the node that it runs on.
    loss
        Value of its evaluation function, less is better; None if it has not reported one.
    done
        Part of its work that is done, from 0 to 1; None if it does not report it.
    used_s
        Processor seconds that it has had.
    """

    name: str
    node: str
    loss: float | None = None
    done: float | None = None
    used_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Move:
    """A job that continues on another node."""

    job: str
    source: str
    target: str
    reason: str


class MigrationRule(t.Protocol):
    """Decides at intervals."""

    def decide(self, now: float, jobs: Sequence[JobProgress]) -> list[Move]:
        """Return what to move at a time, in seconds, given all jobs that run."""
        ...


@dataclass(slots=True)
class _LossHistory:
    """What SpeCon remembers of a job."""

    category: Category = "progressing"
    first: float | None = None
    loss: float = 0.0
    gain: float | None = None
    decided_at: float | None = None
    rebalanced: bool = False


class SpeCon:
    """Algorithms 1 to 3: jobs that converge make way for those that progress."""

    def __init__(self, nodes: Sequence[str], *, alpha: float = 0.01) -> None:
        """Watch jobs on nodes.

        Parameters
        ----------
        nodes
            The nodes that can be chosen, in the order in which ties are decided.
        alpha
            A gain below this share of the first loss is slow.
        """
        self._nodes = tuple(nodes)
        self._alpha = alpha
        self._watched: dict[str, _LossHistory] = {}

    def decide(self, now: float, jobs: Sequence[JobProgress]) -> list[Move]:
        """Return the moves of one interval; see `MigrationRule`."""
        self._watched = {job.name: self._watched.get(job.name, _LossHistory()) for job in jobs}
        places = {job.name: job.node for job in jobs}
        moves = []
        for job in jobs:
            watched = self._watched[job.name]
            if watched.decided_at is None and self._categorize(watched, job, places):
                watched.decided_at = now
                target = self._best_node(job.node, places)
                if target != job.node:
                    moves.append(Move(job.name, job.node, target, "its progress is slow"))
                    places[job.name] = target
        return [*moves, *self._rebalance(now, places)]

    def category(self, job: str) -> Category:
        """Return the category of a job that runs."""
        return self._watched[job].category

    def _categorize(self, watched: _LossHistory, job: JobProgress, places: dict[str, str]) -> bool:
        """Categorize a job (Algorithm 1); return whether a place for it is asked for."""
        if job.loss is None:
            return False
        if watched.first is None:
            watched.first = watched.loss = job.loss
            return False
        gain = abs(job.loss - watched.loss) / (abs(watched.first) or 1.0)
        before, watched.gain, watched.loss = watched.gain, gain, job.loss
        if gain >= self._alpha:
            watched.category = "progressing"
        elif before is not None and gain < before:
            if watched.category == "converged":
                return self._growing(job.node, places) > 1
            steps: dict[Category, Category] = {"progressing": "watching", "watching": "converged"}
            watched.category = steps[watched.category]
        return False

    def _growing(self, node: str, places: dict[str, str]) -> int:
        on_node = (name for name, place in places.items() if place == node)
        return sum(self._watched[name].category != "converged" for name in on_node)

    def _best_node(self, own: str, places: dict[str, str]) -> str:
        """Return the node of the least weighted score (Algorithm 2); its own if that is one."""
        scores = dict.fromkeys(self._nodes, 0.0)
        for name, place in places.items():
            scores[place] = scores.get(place, 0.0) + WEIGHTS[self._watched[name].category]
        least = min(scores[node] for node in self._nodes)
        candidates = [node for node in self._nodes if scores[node] == least]
        if own in candidates:
            return own
        counts = Counter(places.values())  # jobs take all of a processor: that is R(w, t)
        return min(candidates, key=lambda node: counts[node])

    def _rebalance(self, now: float, places: dict[str, str]) -> list[Move]:
        """Even out what was decided before (Algorithm 3)."""
        counts = Counter(places.values())
        even = len(places) // len(self._nodes)
        idle = [node for node in self._nodes if not counts[node]]
        room = even if idle else even - 1
        moves = []
        targets = idle or [node for node in self._nodes if counts[node] < room]
        for target in targets:
            ages = {
                name: now - watched.decided_at
                for name, watched in self._watched.items()
                if watched.decided_at is not None
                and not watched.rebalanced
                and places[name] not in targets
                and counts[places[name]] > counts[target] + 1
            }
            if counts[target] < room and ages:
                name = min(ages, key=lambda one: ages[one])
                moves.append(Move(name, places[name], target, "nodes are uneven"))
                self._watched[name].rebalanced = True
                counts[places[name]] -= 1
                counts[target] += 1
                places[name] = target
        return moves


class RemainingWork:
    """Evens out the work that is left on nodes, which is when they end if they share processors.

    The work that is left of a job is ``used_s * (1 - done) / done``: what it has taken so far,
    extended. Of a job that has not reported what is done, the mean of the others is assumed, and
    it is not moved: it may not be able to save itself yet.
    """

    def __init__(self, nodes: Sequence[str], *, pause_s: float = 5.0) -> None:
        """Even out nodes.

        Parameters
        ----------
        nodes
            The nodes that can be chosen.
        pause_s
            What a move costs: it must gain more than twice that.
        """
        self._nodes = tuple(nodes)
        self._pause_s = pause_s

    def decide(self, now: float, jobs: Sequence[JobProgress]) -> list[Move]:
        """Move what lets the last node end earlier; see `MigrationRule`."""
        known = _work_left(jobs)
        mean = sum(known.values()) / len(known) if known else 0.0
        left = {job.name: known.get(job.name, mean) for job in jobs}
        places = {job.name: job.node for job in jobs}
        loads = dict.fromkeys(self._nodes, 0.0)
        for name, node in places.items():
            loads[node] = loads.get(node, 0.0) + left[name]
        moves: list[Move] = []
        while loads:
            source = max(loads, key=lambda node: loads[node])
            target = min(self._nodes, key=lambda node: loads[node])
            gap = loads[source] - loads[target]
            moved = {move.job for move in moves}
            gains = {
                name: min(gap - left[name], left[name])
                for name, node in places.items()
                if node == source and name in known and name not in moved
            }
            name = max(gains, key=lambda one: gains[one], default="")
            if gains.get(name, 0.0) <= 2 * self._pause_s:
                break
            moves.append(Move(name, source, target, f"{gap:.0f} s more are left on its node"))
            loads[source] -= left[name]
            loads[target] += left[name]
            places[name] = target
        return moves


def _work_left(jobs: Iterable[JobProgress]) -> dict[str, float]:
    return {
        job.name: job.used_s * (1 - job.done) / job.done
        for job in jobs
        if job.done is not None and 0 < job.done <= 1 and job.used_s
    }
