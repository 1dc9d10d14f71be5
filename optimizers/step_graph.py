"""The steps of one scope as a graph of numbers, for algorithms that know no steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from couler.ir.walk import explicit_dependencies, references
from couler.ir.workflow import Group, Step
from couler.optimizers.durations import Clock, item_counts, known_seconds, lasting_as
from couler.optimizers.partitioning.model import TaskGraph


def step_graph(steps: Sequence[Step], costs: Mapping[str, Sequence[int]]) -> TaskGraph:
    """Return the graph of the steps of one scope."""
    index = {step.name: number for number, step in enumerate(steps)}
    before: list[tuple[int, ...]] = []
    data: dict[tuple[int, int], int] = {}
    together: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        named = (index.get(name) for name, _ in explicit_dependencies(step))
        read = [index.get(reference.step) for reference in references(step)]
        waits = tuple(one for one in dict.fromkeys((*named, *read)) if one is not None)
        before.append(waits)
        for source in read:
            if source is not None:
                data[source, number] = _output_bytes(steps[source])
        for source in waits:
            if steps[source].daemon:
                together.setdefault(source, [source]).append(number)
    return TaskGraph(
        names=tuple(index),
        predecessors=tuple(before),
        costs={name: tuple(values) for name, values in costs.items()},
        seconds=_seconds(steps),
        edge_bytes=data,
        together=tuple(tuple(together[daemon]) for daemon in sorted(together)),
    )


class ScopeGraph:
    """The graph of a scope, for many questions about some of its steps: they are walked once."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._whole = step_graph(steps, {})
        self._number = {name: number for number, name in enumerate(self._whole.names)}

    def of(self, names: Sequence[str], costs: Mapping[str, Sequence[int]]) -> TaskGraph:
        """Return the graph of some steps, in the order of the scope; O(n + m) of these."""
        whole = self._whole
        chosen = [self._number[name] for name in names]
        place = {number: position for position, number in enumerate(chosen)}
        before = [[one for one in whole.predecessors[number] if one in place] for number in chosen]
        together = (
            tuple(place[one] for one in nodes if one in place)
            for nodes in whole.together
            if nodes[0] in place  # the daemon
        )
        return TaskGraph(
            names=tuple(names),
            predecessors=tuple(tuple(place[one] for one in befores) for befores in before),
            costs={name: tuple(values) for name, values in costs.items()},
            seconds=tuple(whole.seconds[number] for number in chosen),
            edge_bytes={
                (place[one], position): whole.edge_bytes[one, number]
                for position, (number, befores) in enumerate(zip(chosen, before, strict=True))
                for one in befores
                if (one, number) in whole.edge_bytes
            },
            together=tuple(nodes for nodes in together if len(nodes) > 1),
        )


def processes(step: Step) -> int:
    """Return how many steps run a process for one item and round: one, or those of a group."""
    return sum(1 for inner in steps_inside(step) if not isinstance(inner.action, Group))


def steps_inside(step: Step) -> Iterator[Step]:
    """Yield a step and all steps in it."""
    yield step
    if isinstance(step.action, Group):
        for inner in step.action.steps:
            yield from steps_inside(inner)


def _seconds(steps: Sequence[Step]) -> tuple[float, ...]:
    said = [known_seconds(inner) for step in steps for inner in steps_inside(step)]
    known = [seconds for seconds in said if seconds is not None]
    clock = Clock(lasting_as(sum(known) / len(known) if known else 1.0))
    counts = item_counts(steps)
    return tuple(clock.seconds(step, counts.get(step.name, 1)) for step in steps)


def _output_bytes(step: Step) -> int:
    known = None if step.profile is None else step.profile.output_bytes
    return 1 if known is None else known
