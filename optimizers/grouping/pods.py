"""What a pod has, and how much of its group runs at the same time: one model for all who ask."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from couler.optimizers.silent_steps import SILENT_CPU

if t.TYPE_CHECKING:
    from couler.optimizers.grouping.problem import Operator

__all__ = [
    "NO_LIMITS",
    "SILENT_AT_ONCE",
    "Limits",
    "Pod",
    "ancestors",
    "busy_seconds",
    "chains",
    "fit_at_once",
]

SILENT_AT_ONCE = 2
"""How many operators run at the same time at least in a pod of which nothing is said."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a pod has at most; None is no limit."""

    cpu: float | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    steps: int | None = None
    sized_by_group: bool = False


NO_LIMITS = Limits()
"""As the paper has it."""


class Pod(t.NamedTuple):
    """What the pod of a group has; None is as much as all takes that other bounds let run."""

    cpu: float | None
    memory_bytes: float | None
    gpus: float | None
    steps: int | None
    silent_cpu: float = 0.0
    guessed_cpu: float = 0.0
    is_sized: bool = False

    @classmethod
    def of(cls, limits: Limits, most_cpu: float, most_memory_bytes: float) -> Pod:
        """Return the pod of operators of which the largest takes so much."""
        if not limits.sized_by_group:
            return cls(limits.cpu, limits.memory_bytes, limits.gpus, limits.steps)
        is_free = limits.cpu is None and limits.memory_bytes is None
        cpu = most_cpu if is_free else limits.cpu
        memory = most_memory_bytes if is_free else limits.memory_bytes
        silent = guessed = float(SILENT_CPU)
        if not most_cpu and limits.cpu is None:
            cpu, guessed = float(SILENT_AT_ONCE), 0.0
        elif not most_cpu and cpu is not None:
            cpu = float(max(1, int(cpu)))
        elif cpu is not None:
            silent = guessed = min(silent, cpu)
        return cls(cpu, memory, 1, limits.steps, silent, guessed, True)

    @classmethod
    def for_operators(cls, operators: Sequence[Operator], limits: Limits) -> Pod:
        """Return the pod of some operators."""
        most_cpu = max([one.cpu for one in operators], default=0.0)
        return cls.of(limits, most_cpu, max([one.memory_bytes for one in operators], default=0))

    def cpu_of(self, one: Operator) -> float:
        """Return the processors that an operator takes in it."""
        return one.cpu or (self.guessed_cpu if one.is_guess else self.silent_cpu)

    def shares(self, one: Operator) -> tuple[float, float, float, float]:
        """Return which part an operator takes: of processors, memory, GPUs and steps at a time."""
        gpus = bool(one.gpus) if self.is_sized else one.gpus
        return (
            self.cpu_of(one) / self.cpu if self.cpu else 0.0,
            one.memory_bytes / self.memory_bytes if self.memory_bytes else 0.0,
            gpus / self.gpus if self.gpus else 0.0,
            1.0 / self.steps if self.steps else 0.0,
        )


def busy_seconds(operators: Sequence[Operator], limits: Limits, *, is_batch: bool = True) -> float:
    """Return for how long operators keep the scarcest resource of their pod busy, in O(n)."""
    if not is_batch:
        cpu_s = sum(one.seconds * one.cpu for one in operators)
        return cpu_s / limits.cpu if limits.cpu else 0.0
    pod = Pod.for_operators(operators, limits)
    by_cpu = by_memory = by_gpus = by_steps = 0.0
    for one in operators:
        if one.seconds:
            cpu, memory, gpus, steps = pod.shares(one)
            by_cpu += one.seconds * cpu
            by_memory += one.seconds * memory
            by_gpus += one.seconds * gpus
            by_steps += one.seconds * steps
    return max(by_cpu, by_memory, by_gpus, by_steps)


def fit_at_once(operators: Sequence[Operator], limits: Limits) -> int:
    """Return how many operators of a pod run at the same time at most, the smallest first."""
    pod = Pod.for_operators(operators, limits)
    most = min(len(operators), limits.steps or len(operators))
    with_gpus = sum(one.gpus > 0 for one in operators)
    if with_gpus and pod.is_sized:
        most = min(most, len(operators) - with_gpus + 1)
    is_silent = pod.is_sized and not any(one.cpu for one in operators)
    cpu = None if is_silent and limits.cpu is None else pod.cpu
    memories: list[float] = [one.memory_bytes for one in operators]
    cpus = list(map(pod.cpu_of, operators))
    for amounts, there in ((cpus, cpu), (memories, pod.memory_bytes)):
        if there:
            enough = there * (1 + 1e-9)  # sums of fractions are rounded
            most = min(most, sum(held <= enough for held in accumulate(sorted(amounts))))
    return max(1, most)


def ancestors(befores: Sequence[Iterable[int]]) -> list[int]:
    """Return for each operator, in a topological order, all that it waits for, as bits."""
    found: list[int] = []
    for waits in befores:
        all_before = 0
        for one in waits:
            all_before |= found[one] | 1 << one
        found.append(all_before)
    return found


def chains(befores: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return operators in lines of which each waits for the one before it, directly or not."""
    line_of_last: dict[int, list[int]] = {}
    lasts = 0
    found: list[list[int]] = []
    for node, all_before in enumerate(ancestors(befores)):
        last = (all_before & lasts).bit_length() - 1  # the latest, as it suits fewest others
        line = line_of_last.pop(last, None)
        if line is None:
            line = []
            found.append(line)
        else:
            lasts ^= 1 << last
        line.append(node)
        line_of_last[node] = line
        lasts |= 1 << node
    return found
