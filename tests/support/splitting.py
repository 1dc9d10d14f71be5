"""Small workflows, and an engine with limits, for the tests of `split`."""

from __future__ import annotations

import types
import typing as t

from hypothesis import strategies as st

from couler.ir.policies import Part
from couler.ir.sizes import Cost, Costs, Footprint, Limits, Over
from couler.ir.values import StepRef
from couler.ir.walk import predecessors
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.base import PassContext

RUN = Container(image="busybox", command=("true",))


def step(name: str, *after: str, reads: t.Sequence[str] = (), **fields: t.Any) -> Step:
    """Return a step that waits for some and reads from others."""
    args = tuple(StepRef(step=one) for one in reads)
    action = Container(image="busybox", command=("echo",), args=args) if args else RUN
    return Step(name=name, action=action, depends_on=after, **fields)


def layers(count: int, width: int) -> tuple[Step, ...]:
    """Return layers of steps, each of which reads from two of the layer before."""
    found = [step(f"s0-{one}") for one in range(width)]
    for layer in range(1, count):
        found += [
            step(f"s{layer}-{one}", reads=[f"s{layer - 1}-{(one + k) % width}" for k in (0, 1)])
            for one in range(width)
        ]
    return tuple(found)


class Engine(t.NamedTuple):
    """What steps and parts really take of an engine, whatever its limits estimate."""

    limits: Limits
    step_bytes: int = 100
    shared: int = 0
    own: int = 0
    base: int = 0
    group_bytes: int = 0
    group_definitions: int = 0
    wait_steps: int = 0
    """For each step of other groups that a group waits for."""
    between: int = 0
    """Bytes of the first run for each value that one run hands to another."""
    per_run: int = 0
    """Definitions of the first run for each of the others."""
    stays: t.Mapping[str, str] = types.MappingProxyType({})

    def weigh(self, workflow: Workflow) -> Footprint:
        names = [one.name for one in workflow.steps]
        kinds = ["shared"] if self.shared else []
        costs = {
            name: Cost(self.step_bytes, (*kinds, name) if self.own else tuple(kinds))
            for name in names
        }
        sizes = {"shared": self.shared, **dict.fromkeys(names, self.own)}
        total, count = self.run(len(names), 0)
        return Footprint(
            self.limits,
            lambda: total,
            lambda: count,
            lambda: Costs(costs, sizes, self.base),
            lambda: tuple(self.overs(workflow)),
            lambda: self.stays,
        )

    def run(self, steps: int, groups: int) -> tuple[int, int]:
        """Return bytes and definitions of a run with so many steps and groups."""
        total = self.base + self.shared + steps * (self.step_bytes + self.own)
        count = bool(self.shared) + steps * bool(self.own) + groups
        of_groups = groups * self.group_bytes, bool(groups) * self.group_definitions
        return total + of_groups[0], count + of_groups[1]

    def overs(self, workflow: Workflow) -> t.Iterator[Over]:
        part = {one.name: one.part or Part() for one in workflow.steps}
        runs: dict[str | None, set[str | None]] = {}
        for own in part.values():
            runs.setdefault(own.run, set()).add(own.group)
        for name, groups in runs.items():
            if name is None and len(runs) > 1:
                continue
            steps = sum(own.run == name for own in part.values())
            taken = self.run(steps, len(groups - {None}))
            yield from self.over("main" if name is None else "run", name or "", *taken)
        if set(runs) != {None}:
            reads = {
                (before, part[one.name].run)
                for one in workflow.steps
                for before in predecessors(one)
                if part[before].run != part[one.name].run
            }
            own = self.base + len(reads) * self.between, len(runs) * self.per_run
            yield from self.over("main", "", *own, len(reads) * self.between)
        members: dict[Part, list[Step]] = {}
        for one in workflow.steps:
            members.setdefault(part[one.name], []).append(one)
        for own, inside in members.items():
            outside = {b for one in inside for b in predecessors(one) if part[b] != own}
            steps = len(inside) + len(outside) * self.wait_steps
            most = self.limits.scope_steps
            if own.group is not None and most is not None and steps > most:
                yield Over("group", own.group, "steps", steps, most)

    def over(
        self, where: t.Any, name: str, size: int, definitions: int, between: int = 0
    ) -> t.Iterator[Over]:
        if self.limits.run_bytes is not None and size > self.limits.run_bytes:
            yield Over(where, name, "bytes", size, self.limits.run_bytes, between)
        most = self.limits.run_definitions
        if most is not None and definitions > most:
            yield Over(where, name, "definitions", definitions, most)


def weighed(limits: Limits, **costs: int) -> PassContext:
    """Return a context of an engine on which each step takes the same."""
    return PassContext(weigh=Engine(limits, **costs).weigh)


def parts_of(workflow: Workflow) -> dict[str, list[str]]:
    """Return the steps of each group, by `run/group`."""
    found: dict[str, list[str]] = {}
    for one in workflow.steps:
        part = one.part or Part()
        found.setdefault(f"{part.run or ''}/{part.group or ''}", []).append(one.name)
    return found


def unlabelled(workflow: Workflow) -> Workflow:
    """Return a workflow without its labels."""
    steps = tuple(one.model_copy(update={"part": None}) for one in workflow.steps)
    return workflow.model_copy(update={"steps": steps})


def over_limits(made: Workflow, engine: Engine) -> list[Over]:
    """Return what is over the limits of an engine in what was made."""
    return list(engine.overs(made))


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    count = draw(st.integers(1, 40))
    steps = []
    for number in range(count):
        before = (
            draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        )
        steps.append(step(f"s{number}", *(f"s{one}" for one in before)))
    return Workflow(name="w", steps=tuple(draw(st.permutations(steps))))
