"""What the pod of a group asks for, from what its steps ask for."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from couler.ir.policies import Profile, Resources
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Step
from couler.optimizers.grouped.run_group import BY_PROCESSORS
from couler.optimizers.grouping.problem import (
    SILENT_AT_ONCE,
    Limits,
    Operator,
    busy_seconds,
    chains,
    fit_at_once,
)
from couler.optimizers.silent_steps import SILENT_CPU


def cpu_of(step: Step) -> float:
    """Return the processors that a step asks for; 0 if it does not say."""
    return float(_amount(step, "cpu"))


def memory_of(step: Step) -> int:
    """Return the bytes of memory that a step asks for or is known to take; 0 for unknown."""
    known = step.profile.memory_bytes if step.profile is not None else None
    return int(_amount(step, "memory")) or known or 0


def gpus_of(step: Step) -> int:
    """Return the GPUs that a step asks for."""
    gpu = None if step.resources is None else step.resources.gpu
    return 0 if gpu is None else gpu.count


@dataclass(frozen=True)
class PodNeeds:
    """What a pod asks for, and what its steps may take of that at the same time."""

    resources: Resources | None
    profile: Profile | None
    room: Mapping[str, float]
    steps: Mapping[str, Mapping[str, float]]
    at_once: int | str | None = None


def operator_of(
    step: Step, limits: Limits, *, guess_s: float = 0.0, tags: frozenset[str] = frozenset()
) -> Operator:
    """Return a step as what is grouped: what it holds in a pod, and for how long."""
    seconds = None if step.profile is None else step.profile.seconds
    cpu, memory = (float(max(_amount(step, field) for field in _fields(one))) for one in _WRITERS)
    return Operator(
        step.name,
        tags,
        cpu=cpu if limits.cpu is None else min(cpu, limits.cpu),
        memory_bytes=int(
            memory if limits.memory_bytes is None else min(memory, limits.memory_bytes)
        ),
        gpus=gpus_of(step),
        seconds=guess_s if seconds is None else seconds,
        is_guess=seconds is None,
    )


def pod_needs(
    steps: Sequence[Step], after: Mapping[str, Sequence[str]], limits: Limits
) -> PodNeeds:
    """Return what the pod of some steps asks for."""
    operators = [operator_of(step, limits) for step in steps]
    number = {step.name: place for place, step in enumerate(steps)}
    lines = chains([[number[name] for name in after[step.name]] for step in steps])
    width = min(len(lines), fit_at_once(operators, limits))
    is_free = limits.cpu is None and limits.memory_bytes is None

    def bound(amounts: Sequence[Decimal]) -> Decimal:
        """Return at most what steps take at the same time by their order."""
        return sum((max(amounts[one] for one in line) for line in lines), Decimal(0))

    def most(name: str, amounts: Sequence[Decimal]) -> Decimal:
        """Return the larger of the largest step and, within the limit, all at a time."""
        largest = max(amounts)
        if is_free or width == 1:
            return largest
        limit = getattr(limits, _LIMITS[name])
        at_once = min(bound(amounts), sum(sorted(amounts)[-width:], Decimal(0)))
        return max(largest, at_once if limit is None else min(at_once, Decimal(str(limit))))

    room: dict[str, float] = {}
    needs: dict[str, dict[str, float]] = {step.name: {} for step in steps}
    asked: dict[str, object] = {}
    for name, write in _WRITERS.items():
        requests, bounds = ([_amount(step, field) for step in steps] for field in _fields(name))
        held = list(map(max, requests, bounds))
        if name == "cpu" and any(held):
            there = max(held) if limits.cpu is None else Decimal(str(limits.cpu))
            held = [one or min(Decimal(SILENT_CPU), there) for one in held]
            if not is_free and any(requests):  # a pod that may have more has it for these too
                requests = [one or other for one, other in zip(requests, held, strict=True)]
        for field, amounts in zip(_fields(name), (requests, bounds), strict=True):
            if any(amounts) and (field == name or all(amounts)):
                asked[field] = write(most(name, amounts), steps, field)
        if len(lines) > 1 and most(name, held) < bound(held):
            room[name] = float(most(name, held))
            for step, amount in zip(steps, held, strict=True):
                needs[step.name][name] = float(amount)
    gpus = [gpus_of(step) for step in steps]
    if any(gpus):
        first = next(step.resources for step in steps if step.resources and gpus_of(step))
        assert first.gpu is not None, "it has been counted"
        asked["gpu"] = first.gpu.model_copy(update={"count": max(gpus)})
        if len(lines) > 1 and sum(map(bool, gpus)) > 1:
            room["gpu"] = 1
            for step, count in zip(steps, gpus, strict=True):
                needs[step.name]["gpu"] = float(bool(count))
    disk = [_amount(step, "disk") for step in steps]
    if any(disk):
        asked["disk"] = _bytes(sum(disk, Decimal(0)), steps, "disk")
    is_silent = not any(_amount(step, field) for step in steps for field in _fields("cpu"))
    return PodNeeds(
        Resources.model_validate(asked) if asked else None,
        _profile(steps, after, width, busy_seconds(operators, limits)),
        room,
        {name: some for name, some in needs.items() if some},
        _at_once(len(lines), limits, is_silent=is_silent),
    )


def _at_once(lines: int, limits: Limits, *, is_silent: bool) -> int | str | None:
    """Return how many steps may run at the same time whatever they take."""
    if limits.steps is not None:
        return limits.steps
    if not is_silent or lines < 2:
        return None
    if limits.cpu is not None:
        return max(1, int(limits.cpu))
    return BY_PROCESSORS if lines > SILENT_AT_ONCE else None


def _fields(name: str) -> tuple[str, str]:
    return name, f"{name}_limit"


def _amount(step: Step, name: str) -> Decimal:
    text = None if step.resources is None else getattr(step.resources, name)
    return Decimal(0) if text is None else parse_quantity(text)


def _processors(amount: Decimal, steps: Sequence[Step], name: str) -> str:
    return _as_stated(amount, steps, name) or (
        str(int(amount)) if amount == int(amount) else f"{int(amount * 1000 + Decimal('0.999'))}m"
    )


def _bytes(amount: Decimal, steps: Sequence[Step], name: str) -> str:
    stated = _as_stated(amount, steps, name)
    if stated:
        return stated
    whole = int(amount)
    for suffix, power in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if whole and whole % 2**power == 0:
            return f"{whole >> power}{suffix}"
    return str(whole)


def _as_stated(amount: Decimal, steps: Sequence[Step], name: str) -> str | None:
    for step in steps:
        if step.resources is not None and _amount(step, name) == amount:
            text: str | None = getattr(step.resources, name)
            return text
    return None


_Writer: t.TypeAlias = Callable[[Decimal, Sequence[Step], str], str]

_WRITERS: Mapping[str, _Writer] = {"cpu": _processors, "memory": _bytes}

_LIMITS = {"cpu": "cpu", "memory": "memory_bytes"}


def _profile(
    steps: Sequence[Step], after: Mapping[str, Sequence[str]], width: int, busy_s: float
) -> Profile | None:
    """Return what is known of all steps of a group together."""
    known = {step.name: step.profile for step in steps if step.profile is not None}
    took = {name: one.seconds for name, one in known.items() if one.seconds is not None}
    ends: dict[str, float] = {}
    for step in steps:
        begin = max((ends[name] for name in after[step.name]), default=0.0)
        ends[step.name] = begin + took.get(step.name, 0.0)
    memory = [one.memory_bytes for one in known.values() if one.memory_bytes is not None]
    last = known.get(steps[-1].name)
    computing = [one for one in known.values() if one.operations is not None]
    tasks: dict[str, float] = {}
    for one in computing:
        if one.task is not None:
            tasks[one.task] = tasks.get(one.task, 0.0) + (one.operations or 0.0)
    found = Profile.model_validate(
        {
            "seconds": max(busy_s, *ends.values()) if took else None,
            "memory_bytes": min(sum(memory), width * max(memory))
            if len(memory) == len(steps)
            else None,
            "output_bytes": None if last is None else last.output_bytes,
            "operations": sum(one.operations or 0.0 for one in computing) if computing else None,
            "model": computing[0].model if computing else None,
            "task": max(tasks, key=lambda task: tasks[task]) if tasks else None,
        }
    )
    return None if found == Profile() else found
