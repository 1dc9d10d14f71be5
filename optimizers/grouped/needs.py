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
    """

    resources: Resources | None
    profile: Profile | None
    room: Mapping[str, float]
    steps: Mapping[str, Mapping[str, float]]


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
    What steps need at most at a time is the heaviest set of steps of which none waits for another.
    For steps in a row that is the largest step. Otherwise the sum of all bounds it, and `at_once`
    times the largest; that is asked for, at most the limit, and the runner lets no more begin than
    fit. GPUs are given to one step at a time, so that each sees those of its pod and no others: the
    most that a step asks for. Storage is the sum, as files stay. Limits of a container are stated
    if each step states one.
    """
    is_row = all(before.name in after[step.name] for before, step in _pairs(steps))
    width = 1 if is_row else min(len(steps), at_once or len(steps))

    def most(name: str, amounts: Sequence[Decimal]) -> Decimal:
        largest = max(amounts)
        bound = min(sum(amounts, Decimal(0)), width * largest)
        limit = limits.get(name)
        return bound if limit is None else max(largest, min(bound, Decimal(str(limit))))

    room: dict[str, float] = {}
    needs: dict[str, dict[str, float]] = {step.name: {} for step in steps}
    asked: dict[str, str] = {}
    for name, write in _WRITERS.items():
        amounts = [_amount(step, name) for step in steps]
        if not any(amounts):
            continue
        total = most(name.partition("_")[0], amounts)
        if not name.endswith("_limit") or all(amounts):
            asked[name] = write(total, steps, name)
        if total < sum(amounts) and width > 1 and not name.endswith("_limit"):
            room[name] = float(total)
            for step, amount in zip(steps, amounts, strict=True):
                needs[step.name][name] = float(amount)
    gpus = [gpus_of(step) for step in steps]
    gpu = next((step.resources.gpu for step in steps if step.resources and gpus_of(step)), None)
    if gpu is not None:
        gpu = gpu.model_copy(update={"count": max(gpus)})
        if width > 1 and sum(map(bool, gpus)) > 1:
            room["gpu"] = 1
            for step, count in zip(steps, gpus, strict=True):
                needs[step.name]["gpu"] = float(bool(count))
    disk = [_amount(step, "disk") for step in steps]
    if any(disk):
        asked["disk"] = _bytes(sum(disk, Decimal(0)), steps, "disk")
    resources = Resources.model_validate({**asked, "gpu": gpu}) if asked or gpu else None
    steps_needs = {name: some for name, some in needs.items() if some}
    return PodNeeds(resources, _profile(steps, after, width), room, steps_needs)


def _pairs(steps: Sequence[Step]) -> list[tuple[Step, Step]]:
    return list(itertools.pairwise(steps))


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

_WRITERS: Mapping[str, _Writer] = {
    "cpu": _processors,
    "memory": _bytes,
    "cpu_limit": _processors,
    "memory_limit": _bytes,
}


def _profile(
    steps: Sequence[Step], after: Mapping[str, Sequence[str]], width: int
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
        in_turn = sum(one.seconds or 0.0 for one in known) / width
        seconds = max(in_turn, *ends.values())
    memory = [one.memory_bytes for one in known if one.memory_bytes is not None]
    outputs = [one.output_bytes for one in known if one.output_bytes is not None]
    found = Profile(
        seconds=seconds,
        memory_bytes=min(sum(memory), width * max(memory)) if len(memory) == len(known) else None,
        output_bytes=outputs[-1] if len(outputs) == len(known) else None,
    )
    return None if found == Profile() else found
