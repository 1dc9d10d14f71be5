"""What the pod of a group asks for, from what its steps ask for."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from couler.ir.policies import Profile, Resources
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Step
from couler.optimizers.silent_steps import SILENT_CPU

__all__ = ["PodNeeds", "cpu_of", "gpus_of", "memory_of", "pod_needs"]


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
    """What a pod asks for, and what its steps may take of that at the same time.

    Attributes
    ----------
    resources, profile
        Of the step that stands for the group.
    room
        What is shared out among its steps while they run, by name; nothing where all fit.
    steps
        How much of that each step takes, by its name.
    is_silent
        Whether no step says how many processors it takes.
    """

    resources: Resources | None
    profile: Profile | None
    room: Mapping[str, float]
    steps: Mapping[str, Mapping[str, float]]
    is_silent: bool = False


def pod_needs(
    steps: Sequence[Step],
    after: Mapping[str, Sequence[str]],
    *,
    at_once: int | None,
    limits: Mapping[str, float | None],
) -> PodNeeds:
    """Return what the pod of some steps asks for.

    Parameters
    ----------
    steps
        In a topological order.
    after
        For each the steps of the group that it waits for.
    at_once
        How many run at the same time at most; None for as many as can.
    limits
        Most `cpu`, `memory` (bytes) and `gpus` of a pod, as far as there are limits.

    Notes
    -----
    A pod asks for what its largest step asks for, of each resource, so that it finds a place where
    its steps would have. A limit above that gives it more: then it asks for what its steps need at
    most at a time, the heaviest set of steps of which none waits for another; for steps in a row
    that is the largest step, and else the sum of all bounds it, and `at_once` times the largest.
    The runner lets no more begin than fit, by what they ask for or, if that is more, by their
    limits. So the limit of the container, stated if each step states one, is reached by a step that
    would have reached its own. A step that asks for no processors takes one, or all where there is
    less; if no step asks for any, neither does the pod, and the runner looks how many there are.
    GPUs are given to one step at a time: the most that a step asks for,
    of which each sees all. Storage is the sum, as files stay.
    """
    is_row = all(before.name in after[step.name] for before, step in itertools.pairwise(steps))
    width = 1 if is_row else min(len(steps), at_once or len(steps))

    def most(name: str, amounts: Sequence[Decimal]) -> Decimal:
        """Return the larger of the largest step and, within the limit, all at a time."""
        largest, limit = max(amounts), limits.get(name)
        bound = min(sum(amounts, Decimal(0)), width * largest)
        return largest if limit is None else max(largest, min(bound, Decimal(str(limit))))

    room: dict[str, float] = {}
    needs: dict[str, dict[str, float]] = {step.name: {} for step in steps}
    asked: dict[str, object] = {}
    for name, write in _WRITERS.items():
        requests, bounds = ([_amount(step, field) for step in steps] for field in _fields(name))
        held = list(map(max, requests, bounds))
        if name == "cpu" and any(held):
            limit = limits.get(name)
            there = max(held) if limit is None else Decimal(str(limit))
            held = [one or min(Decimal(SILENT_CPU), there) for one in held]
            if limit is not None and any(requests):  # a pod that may have more has it for these too
                requests = [one or other for one, other in zip(requests, held, strict=True)]
        for field, amounts in zip(_fields(name), (requests, bounds), strict=True):
            if any(amounts) and (field == name or all(amounts)):
                asked[field] = write(most(name, amounts), steps, field)
        if width > 1 and most(name, held) < sum(held):
            room[name] = float(most(name, held))
            for step, amount in zip(steps, held, strict=True):
                needs[step.name][name] = float(amount)
    gpus = [gpus_of(step) for step in steps]
    if any(gpus):
        first = next(step.resources for step in steps if step.resources and gpus_of(step))
        assert first.gpu is not None, "it has been counted"
        asked["gpu"] = first.gpu.model_copy(update={"count": max(gpus)})
        if width > 1 and sum(map(bool, gpus)) > 1:
            room["gpu"] = 1
            for step, count in zip(steps, gpus, strict=True):
                needs[step.name]["gpu"] = float(bool(count))
    disk = [_amount(step, "disk") for step in steps]
    if any(disk):
        asked["disk"] = _bytes(sum(disk, Decimal(0)), steps, "disk")
    return PodNeeds(
        Resources.model_validate(asked) if asked else None,
        _profile(steps, after, width, room, needs),
        room,
        {name: some for name, some in needs.items() if some},
        is_silent=not any(_amount(step, field) for step in steps for field in _fields("cpu")),
    )


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


def _profile(
    steps: Sequence[Step],
    after: Mapping[str, Sequence[str]],
    width: int,
    room: Mapping[str, float],
    needs: Mapping[str, Mapping[str, float]],
) -> Profile | None:
    """Return what is known of all steps of a group together."""
    known = [step.profile for step in steps if step.profile is not None]
    if len(known) < len(steps):
        return None
    seconds = None
    if all(one.seconds is not None for one in known):
        ends: dict[str, float] = {}
        for step, one in zip(steps, known, strict=True):
            begin = max((ends[name] for name in after[step.name]), default=0.0)
            ends[step.name] = begin + (one.seconds or 0.0)
        took = {step.name: one.seconds or 0.0 for step, one in zip(steps, known, strict=True)}
        busy = [sum(took.values()) / width]
        for what, total in room.items():
            busy.append(sum(took[name] * some.get(what, 0) for name, some in needs.items()) / total)
        seconds = max(*busy, *ends.values())
    memory = [one.memory_bytes for one in known if one.memory_bytes is not None]
    outputs = [one.output_bytes for one in known if one.output_bytes is not None]
    found = Profile(
        seconds=seconds,
        memory_bytes=min(sum(memory), width * max(memory)) if len(memory) == len(known) else None,
        output_bytes=outputs[-1] if len(outputs) == len(known) else None,
    )
    return None if found == Profile() else found
