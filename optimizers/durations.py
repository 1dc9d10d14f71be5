"""How long steps and scopes take, and when steps start: used by estimates and `split`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from couler.ir.policies import Part
from couler.ir.ranges import known_items
from couler.ir.values import StepRef
from couler.ir.walk import predecessors
from couler.ir.workflow import Group, Step, Suspend

Lasting = Callable[[Step], float]
"""Gives the seconds of one item and one round of a step that is no group."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Times of steps in one model."""

    lasting: Lasting
    parts_are_barriers: bool = False

    def times(self, steps: Sequence[Step]) -> list[tuple[float, float]]:
        """Return when each step of a scope starts and ends, in seconds from the scope's start."""
        index = {step.name: number for number, step in enumerate(steps)}
        before = [[index[one] for one in predecessors(step) if one in index] for step in steps]
        from couler.optimizers.partitioning.measure import start_times

        counts = item_counts(steps)
        seconds = [self.seconds(step, counts.get(step.name, 1)) for step in steps]
        paths = [part_path(step.part) for step in steps] if self.parts_are_barriers else None
        starts = start_times(before, seconds, paths)
        return [(start, start + takes) for start, takes in zip(starts, seconds, strict=True)]

    def makespan(self, steps: Sequence[Step]) -> float:
        """Return how long a scope takes, in seconds."""
        return max((end for _, end in self.times(steps)), default=0.0)

    def seconds(self, step: Step, count: int) -> float:
        """Return how long a step takes with all of its items, of which there are `count`."""
        turns, _ = turns_of(step, count)
        return turns * self.once(step)

    def once(self, step: Step) -> float:
        """Return how long one item and one round of a step takes, in seconds."""
        if isinstance(step.action, Group):
            return self.makespan(step.action.steps)
        return self.lasting(step)


def known_seconds(step: Step) -> float | None:
    """How long one item of a step takes by its profile, or a pause; None if it is unknown."""
    if step.profile is not None and step.profile.seconds is not None:
        return step.profile.seconds
    return step.action.seconds if isinstance(step.action, Suspend) else None


def lasting_as(usual: float) -> Lasting:
    """Return the known seconds of steps, and for those that are not known the usual ones."""

    def lasting(step: Step) -> float:
        known = known_seconds(step)
        return usual if known is None else known

    return lasting


def turns_of(step: Step, count: int) -> tuple[int, int]:
    """Return how often as many items as can run at once are run, and how many these are."""
    width = count
    if step.foreach is not None and step.foreach.max_parallel is not None:
        width = min(count, step.foreach.max_parallel)
    return math.ceil(count / width) if width else 0, width


def item_counts(steps: Sequence[Step]) -> Mapping[str, int]:
    """Return how many items each foreach of a scope has, where that is known before a run."""
    counts: dict[str, int] = {}
    for step in steps:
        for items in step.foreach.over.values() if step.foreach is not None else ():
            known = known_items(items)
            if known is not None:
                counts[step.name] = len(known)
                break
            if isinstance(items, StepRef) and items.step in counts:
                counts[step.name] = counts[items.step]
                break
    return counts


def part_path(part: Part | None) -> tuple[tuple[str, str], ...]:
    """Return the parts around a step as pairs of kind and name, the outermost first."""
    if part is None:
        return ()
    given = (("run", part.run), ("group", part.group))
    return tuple((kind, name) for kind, name in given if name is not None)
