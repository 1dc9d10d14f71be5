"""Groups of the steps of one scope, as large as the engine takes them with all that they need."""

from __future__ import annotations

import typing as t
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

from couler.errors import BudgetError
from couler.ir.sizes import Limits
from couler.ir.walk import predecessors, references
from couler.ir.workflow import Step
from couler.optimizers.partitioning.methods import partition
from couler.optimizers.partitioning.model import Partition, TaskGraph
from couler.optimizers.step_graph import ScopeGraph

_TRIES = 12
"""How often groups are made smaller; each time by as much as the largest is over the limit."""

_MORE = 10
"""Groups of the next run are tried with a tenth more than was enough for the last."""


class Waits(t.NamedTuple):
    """What a step waits for in its scope, and which outputs it reads there."""

    before: frozenset[str]
    read: frozenset[tuple[str, str]]


def waits_of(steps: Sequence[Step]) -> dict[str, Waits]:
    """Return what each step of a scope waits for, by its name; O(n + m + v)."""
    names = {step.name for step in steps}
    return {
        step.name: Waits(
            frozenset(names.intersection(predecessors(step))),
            frozenset((one.step, one.output) for one in references(step) if one.step in names),
        )
        for step in steps
    }


class GroupFinder:
    """Finds groups of the steps of a scope, or of one run of it after the other."""

    def __init__(
        self, scope: Sequence[Step], limits: Limits, stated: int | None, method: str
    ) -> None:
        self._scope = scope
        self._limits = limits
        self._stated = stated
        self._method = method
        self._last: int | None = None
        self._more = _MORE
        self._known: dict[Hashable, Partition] = {}
        self._share = 1.0
        """What share of the engine's room groups are to take, by what was measured of them."""

    def shrink(self, excess: float) -> None:
        """Make groups smaller from now on, as one came out over the limit by a factor."""
        self._share /= excess * 1.02

    @cached_property
    def _graph(self) -> ScopeGraph:
        return ScopeGraph(self._scope)

    @cached_property
    def _waits(self) -> dict[str, Waits]:
        return waits_of(self._scope)

    def find(self, steps: Sequence[Step]) -> Partition | None:
        """Return the groups of some steps of the scope, or None where they need none."""
        limits = self._limits
        most = [count for count in (self._stated, limits.scope_steps) if count is not None]
        if not most:
            return None
        names = [step.name for step in steps]
        is_all = len(steps) == len(self._scope)
        if len(steps) <= min(most) and (is_all or self._excess([names]) <= 1.0):
            return None
        graph = self._graph.of(names, {"steps": [1] * len(steps)})
        if limits.scope_steps is None:
            return partition(graph, {"steps": min(most)}, self._method)
        parts = limits.scope_steps - limits.steps_in_scope
        room = max(1, int(limits.scope_steps * self._share) - limits.steps_in_part)
        if self._stated is not None:
            room = min(room, self._stated)
        if self._last is not None:
            room = min(room, self._last + self._last // self._more)
        for trial in range(_TRIES):
            try:
                found = self._partition(graph, room, parts)
            except BudgetError:
                if trial:  # it is what the groups need besides their steps that makes so many
                    break
                raise
            excess = self._excess([[names[number] for number in part] for part in found.parts])
            if excess <= 1.0:
                self._last = room
                return found
            if trial == 0 and self._last is not None:
                self._more *= 4
            largest = max(map(len, found.parts))
            if largest == 1:
                break
            room = max(1, min(largest - 1, int(largest / excess)))
        raise BudgetError("a group reads more from outside of it than the engine can hand on")

    def _partition(self, graph: TaskGraph, room: int, most_parts: int) -> Partition:
        """Groups of at most `room` steps; runs of an unrolled loop are alike, and so groups."""
        data = tuple(graph.edge_bytes.items())
        alike = room, graph.predecessors, graph.seconds, data, graph.together
        if alike not in self._known:
            self._known[alike] = partition(
                graph, {"steps": room}, self._method, most_parts=most_parts
            )
        return self._known[alike]

    def values_share(self, steps: Sequence[Step]) -> float:
        """Return how many values some steps read of others, as a share of what a part can read."""
        most = self._limits.values_per_part
        if most is None:
            return 0.0
        values = len(self._read_outside([step.name for step in steps]))
        if values > most and len(steps) == 1:
            raise BudgetError(
                f'"{steps[0].name}" reads {values:,} values of other runs, and {most:,} can be '
                "handed on to one"
            )
        return values / most

    def _excess(self, groups: Iterable[Sequence[str]]) -> float:
        """Return the most that a group takes, as a share of what it may take."""
        limits = self._limits
        if limits.scope_steps is None:
            return 0.0
        worst = 0.0
        for names in groups:
            inside = frozenset(names)
            outside = [self._waits[name].before - inside for name in names]
            waiting = sum(map(bool, outside))
            gates = min(len(frozenset[str]().union(*outside)), waiting) * limits.steps_per_wait
            worst = max(worst, (len(inside) + gates + limits.steps_in_part) / limits.scope_steps)
            if limits.values_per_part is not None:
                worst = max(worst, len(self._read_outside(names)) / limits.values_per_part)
        return worst / self._share

    def _read_outside(self, names: Sequence[str]) -> set[tuple[str, str]]:
        """Return the values that some steps read of steps that are not among them."""
        inside = frozenset(names)
        read = set[tuple[str, str]]().union(*(self._waits[name].read for name in names))
        return {value for value in read if value[0] not in inside}
