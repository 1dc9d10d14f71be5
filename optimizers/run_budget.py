"""What a run of its own may hold, what each step takes of it, and groups that fit into it."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from couler.errors import BudgetError
from couler.ir.sizes import Costs, Footprint, Limits
from couler.ir.walk import predecessors, references
from couler.ir.workflow import Step, Workflow
from couler.optimizers.partitioning.measure import loads
from couler.optimizers.partitioning.methods import partition
from couler.optimizers.partitioning.model import Partition, TaskGraph
from couler.optimizers.step_graph import ScopeGraph, processes, step_graph, steps_inside

_WORDS = {"pods": "steps that run a process", "bytes": "bytes as stored"}


class RunBudget:
    """The budget of a run, of what the user states and of what the engine takes."""

    def __init__(
        self, workflow: Workflow, stated: Mapping[str, int], footprint: Footprint | None
    ) -> None:
        self._workflow = workflow
        self._stated = stated
        self._footprint = footprint
        self._engine = Limits() if footprint is None else footprint.limits
        self._caps: dict[str, int] = {}
        """What the steps of a run may cost at most, by what was measured of runs."""
        self._most_runs: int | None = None

    @property
    def asked(self) -> bool:
        """Whether the user states a budget."""
        return bool(self._stated)

    @property
    def besides(self) -> str:
        """What a run takes besides its steps, as a sentence, if a budget of that is stated."""
        taken = self._fixed.get("bytes", 0)
        has_any = taken and "bytes" in self._stated
        return f" A run takes {taken:,} bytes besides its steps." if has_any else ""

    @property
    def is_needed(self) -> bool:
        """Whether there are to be runs of their own, whatever groups there are."""
        return self.asked or self.is_over

    @property
    def is_over(self) -> bool:
        """Whether the engine takes less in one run than the workflow is."""
        return self._footprint is not None and not self._footprint.fits

    @property
    def why(self) -> str:
        """What the workflow has too much of for one run, and whose word that is."""
        known = self._footprint
        engine = self._engine
        totals = {name: sum(costs) for name, costs in self._costs.items()}
        limits: dict[str, tuple[int, str]] = {
            name: (most, "at most {:,} are to be in a run") for name, most in self._stated.items()
        }
        if known is not None:
            totals |= {"bytes": known.size_bytes, "definitions": known.definitions}
            for name, most in (
                ("bytes", engine.run_bytes),
                ("definitions", engine.run_definitions),
            ):
                if most is not None and most < limits.get(name, (most + 1, ""))[0]:
                    limits[name] = most, "the engine takes {:,} in one run"
        told = [
            f"{totals[name]:,} {_WORDS.get(name, name)}, and {words.format(most)}"
            for name, (most, words) in limits.items()
            if name in totals and totals[name] > most
        ]
        return f"the workflow has {', and '.join(told)}"

    @property
    def can_help(self) -> bool:
        """Whether runs of their own can be made at all."""
        return self.asked or self._engine.takes_runs

    @property
    def most_runs(self) -> int | None:
        """How many parts the run that starts the others can have, as far as is known."""
        engine = self._engine
        found = [] if self._most_runs is None else [self._most_runs]
        if engine.scope_steps is not None:
            found.append(engine.scope_steps - engine.steps_in_scope)
        if engine.run_definitions is not None and engine.takes_runs:
            around = 1 + engine.definitions_per_run + engine.definitions_of_parts
            found.append(engine.run_definitions - around)
        return max(1, min(found) - len(self.stays)) if found else None

    @property
    def at_once(self) -> int:
        """How many steps of the workflow run at once at most; 0 for any number."""
        return self._workflow.max_parallel or 0

    @property
    def stays(self) -> Mapping[str, str]:
        """The steps that have no run but the first, and why."""
        return {} if self._footprint is None else self._footprint.stays

    def have_fewer_runs(self, count: int, excess: float) -> None:
        """Make fewer runs from now on, as so many were too many by a factor."""
        fewer = min(count - 1, int(count / excess))
        if fewer < 2:
            raise BudgetError("the run that starts the others has no room for them")
        self._most_runs = fewer

    @property
    def part_overhead(self) -> Mapping[str, int]:
        """What each run costs by itself."""
        return {"bytes": self._engine.bytes_per_part} if "bytes" in self._most else {}

    @property
    def cut_overhead(self) -> Mapping[str, int]:
        """What a wait across runs costs at each of its ends: little where no data goes with it."""
        if "bytes" not in self._most:
            return {}
        has_data = any(True for step in self._workflow.steps for _ in references(step))
        return {"bytes": self._engine.bytes_per_wait if has_data else self._engine.bytes_per_end}

    @property
    def limits(self) -> dict[str, int]:
        """What the steps of a run may cost in sum."""
        room = {name: most - self._fixed.get(name, 0) for name, most in self._most.items()}
        for name, left in room.items():
            if left < 1:
                raise BudgetError(
                    f"a run takes {self._fixed[name]:,} {name} besides its steps, and may take "
                    f"{self._most[name]:,}"
                )
        for name, cap in self._caps.items():
            room[name] = min(cap, room.get(name, cap))
        return {name: max(1, most) for name, most in room.items()}

    def shrink(self, name: str, loads: Mapping[str, int], excess: float) -> None:
        """Make runs smaller from now on, as one with these loads was too large by a factor."""
        known = [one for one in (name, "bytes", "steps") if loads.get(one)]
        cap = int(loads[known[0]] / (excess * 1.02))
        self._caps[known[0]] = max(1, min(cap, self._caps.get(known[0], cap)))

    def is_over_as_one(self, steps: Sequence[Step], groups: Partition | None) -> bool:
        """Return whether one run with all steps, in groups, seems to be too large."""
        if self._footprint is None or groups is None:
            return False
        engine, footprint = self._engine, self._footprint
        size = footprint.size_bytes + self._of_groups(steps, groups)
        definitions = footprint.definitions + groups.count + engine.definitions_of_parts
        return (engine.run_bytes is not None and size > engine.run_bytes) or (
            engine.run_definitions is not None and definitions > engine.run_definitions
        )

    def excess(
        self, loads: Mapping[str, int], steps: Sequence[Step], groups: Partition | None
    ) -> tuple[str, float]:
        """Return what a run seems to take with its groups, as a share of what it may hold."""
        if groups is None:
            return "bytes", 0.0
        added = {
            "bytes": self._of_groups(steps, groups) if "bytes" in self._most else 0,
            "definitions": groups.count,
        }
        shares = [
            ((loads[name] + added[name]) / max(1, most - self._fixed.get(name, 0)), name)
            for name, most in self._most.items()
            if name in added and name in loads
        ]
        share, name = max(shares, default=(0.0, "bytes"))
        return name, share

    def loads(self, graph: TaskGraph, runs: Partition) -> list[dict[str, int]]:
        """Return what the steps of each run cost, with what crosses from and to others."""
        overhead = {"part_overhead": self.part_overhead, "cut_overhead": self.cut_overhead}
        found = loads(graph, runs, **overhead)
        return [{name: costs[run] for name, costs in found.items()} for run in range(runs.count)]

    @cached_property
    def costs(self) -> dict[str, tuple[int, ...]]:
        """For each dimension what each step of the workflow's own scope costs a run of its own."""
        stays, steps = self.stays, self._workflow.steps
        if not stays:
            return self._costs
        return {
            name: tuple(
                0 if step.name in stays else cost for step, cost in zip(steps, costs, strict=True)
            )
            for name, costs in self._costs.items()
        }

    @cached_property
    def _costs(self) -> dict[str, tuple[int, ...]]:
        steps = self._workflow.steps
        found = {
            "steps": tuple(sum(1 for _ in steps_inside(step)) for step in steps),
            "pods": tuple(map(processes, steps)),
        }
        if self._known is None:
            if "bytes" in self._most:
                texts = (step.model_dump_json(exclude_defaults=True) for step in steps)
                found["bytes"] = tuple(len(text.encode()) for text in texts)
            return found
        own = [self._known.steps[step.name] for step in steps]
        sizes = self._known.definition_bytes
        found["bytes"] = tuple(
            cost.size_bytes
            + sum(sizes[name] for name in cost.definitions if name not in self._shared)
            for cost in own
        )
        found["definitions"] = tuple(
            sum(name not in self._shared for name in cost.definitions) for cost in own
        )
        return found

    @cached_property
    def _most(self) -> dict[str, int]:
        """What a run may hold in each dimension."""
        most = dict(self._stated)
        engine = {
            "bytes": self._engine.run_bytes,
            "definitions": self._engine.run_definitions,
        }
        if self._engine.takes_runs:
            for name, limit in engine.items():
                if limit is not None:
                    most[name] = min(limit, most.get(name, limit))
        return most

    @property
    def _known(self) -> Costs | None:
        return None if self._footprint is None else self._footprint.costs

    @cached_property
    def _shared(self) -> frozenset[str]:
        """The definitions that each run is charged with."""
        if self._known is None:
            return frozenset()
        uses = Counter(name for cost in self._known.steps.values() for name in cost.definitions)
        shared = frozenset(name for name, count in uses.items() if count > 1)
        sizes = self._known.definition_bytes
        limits = {"bytes": sum(sizes[name] for name in shared), "definitions": len(shared)}
        fits = all(limits[name] * 2 <= most for name, most in self._most.items() if name in limits)
        return shared if fits else frozenset()

    @cached_property
    def _fixed(self) -> dict[str, int]:
        """What each run takes whatever its steps are."""
        if self._known is None:
            return {}
        sizes = self._known.definition_bytes
        shared = sum(sizes[name] for name in self._shared)
        return {
            "bytes": self._known.base_bytes + shared + self._engine.bytes_per_run,
            "definitions": len(self._shared)
            + 1  # the template of the part itself
            + self._engine.definitions_per_run
            + self._engine.definitions_of_parts,
        }

    def _of_groups(self, steps: Sequence[Step], groups: Partition) -> int:
        """Return the bytes that groups take besides their steps."""
        engine = self._engine
        waits = values = 0
        graph = step_graph(steps, {})
        for number, befores in enumerate(graph.predecessors):
            part = groups.part_of[number]
            for before in befores:
                if groups.part_of[before] != part:
                    waits += 1
                    values += (before, number) in graph.edge_bytes
        return (
            groups.count * engine.bytes_per_part
            + values * engine.bytes_per_wait
            + (waits - values) * engine.bytes_per_end
        )


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
