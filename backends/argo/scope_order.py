"""The order in which the steps of a scope are looked at, each after those that it waits for."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping, Sequence

from couler.backends.argo.names import Names
from couler.ir.walk import predecessors
from couler.ir.workflow import Step


class Task(t.NamedTuple):
    """A step, and the name of the task that Argo runs for it."""

    step: Step
    name: str


class ScopeOrders:
    """Finds the order of each scope of a workflow once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[Step, ...], tuple[Task, ...]]] = {}

    def of(self, steps: tuple[Step, ...]) -> tuple[Task, ...]:
        """Return the steps of a scope, each after all that it waits for."""
        known = self._known.get(id(steps))
        if known is None:
            # The steps are kept as well, so that no other can come to be in their place.
            known = self._known[id(steps)] = steps, tuple(_ordered(steps))
        return known[1]


def _ordered(steps: Sequence[Step]) -> Iterator[Task]:
    names = Names()
    tasks = {step.name: Task(step, names.take(step.name)) for step in steps}
    passes = passes_of({step.name: predecessors(step) for step in steps})
    # Sorting is stable: what is found in one pass stays in the order of the program.
    for name in sorted(tasks, key=passes.__getitem__):
        yield tasks[name]


def passes_of(before: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return in which pass over the steps of a scope each has all behind it that it waits for."""
    places = {name: place for place, name in enumerate(before)}
    after: dict[str, list[str]] = {name: [] for name in before}
    left: dict[str, int] = {}
    for name, waited_for in before.items():
        inside = {one for one in waited_for if one in places and one != name}
        left[name] = len(inside)
        for one in inside:
            after[one].append(name)
    found = dict.fromkeys(before, 0)
    ready = [name for name, count in left.items() if count == 0]
    for name in ready:  # grows while it is read
        for one in after[name]:
            found[one] = max(found[one], found[name] + (places[name] > places[one]))
            left[one] -= 1
            if left[one] == 0:
                ready.append(one)
    last = max(found.values(), default=0) + 1
    return {name: found[name] if left[name] == 0 else last for name in before}
