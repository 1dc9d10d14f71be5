"""Which steps of a scope need not run although their outputs are no longer stored."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from couler.ir.graph import Graph
from couler.ir.semantics.outputs import Instance, outputs_of
from couler.ir.semantics.status import State, refuse_start
from couler.ir.semantics.values import Outputs, View
from couler.ir.walk import StepPath, references
from couler.ir.workflow import Group, Step

Found = t.TypeVar("Found", bound="Known")


class Known(t.Protocol):
    """How a step would end without running."""

    @property
    def outputs(self) -> Outputs:
        """Outputs of the step."""

    @property
    def since(self) -> int:
        """Ordinal of that end."""

    @property
    def is_kept(self) -> bool:
        """Whether the outputs can be read, and not only be named."""


Look: t.TypeAlias = Callable[[Instance, View, int], Found | None]
"""Returns what is known of an instance, with what it reads and the `since` of what it waits for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scope has come."""

    view: View
    since: int
    states: Mapping[str, State]
    sinces: Mapping[str, int]
    runs: Collection[str]


@dataclass(frozen=True, slots=True)
class Verdict(t.Generic[Found]):
    """What is foreseen.

    Attributes
    ----------
    ends
        The steps that need not run, by name: those whose outputs are stored, and those that are
        remembered and read by such steps alone.
    needed
        The remembered steps of which something reads outputs that are not stored.
    """

    ends: dict[str, Found] = field(default_factory=dict)
    needed: dict[str, Found] = field(default_factory=dict)


class Foresight:
    """Foresees the ends of the steps of one scope."""

    def __init__(
        self,
        steps: Collection[Step],
        graph: Graph,
        path: StepPath,
        *,
        read: Collection[str],
        shown: Collection[str],
    ) -> None:
        self._graph = graph
        self._shown = frozenset(shown)
        self._instances = {
            step.name: Instance(step, path / step.name, outputs_of(step, is_read=step.name in read))
            for step in steps
            if is_foreseeable(step)
        }
        self._readers: dict[str, set[str]] = {step.name: set() for step in steps}
        for step in steps:
            for reference in references(step):
                # A handler reads steps that are not of its scope.
                self._readers.get(reference.step, set()).add(step.name)

    def foresee(self, progress: Progress, look: Look[Found]) -> Verdict[Found]:
        """Foresee what need not run."""
        ends = self._known(progress, look)
        first = needed = self._needed(ends)
        while needed:
            self._strike(ends, needed)
            needed = self._needed(ends)
        return Verdict(ends, first)

    def _known(self, progress: Progress, look: Look[Found]) -> dict[str, Found]:
        """Return what need not run if no remembered step has to, in the order of the graph."""
        ends: dict[str, Found] = {}
        states, sinces = dict(progress.states), dict(progress.sinces)
        readable = dict(progress.view.steps)
        view = replace(progress.view, steps=readable)
        for name in self._graph.topological_order:
            instance = self._instances.get(name)
            before = self._graph.predecessors[name]
            if (
                instance is None
                or name in progress.runs
                or name in progress.states
                or any(one not in states for one in before)
                or refuse_start(instance.step, states) is not None
            ):
                continue
            since = max((progress.since, *(sinces[one] for one in before)))
            found = look(instance, view, since)
            if found is not None:
                ends[name], states[name] = found, "cached"
                readable[name], sinces[name] = found.outputs, max(since, found.since)
        return ends

    def _needed(self, ends: dict[str, Found]) -> dict[str, Found]:
        """Return the remembered steps of which something reads outputs that are not stored."""
        needed: dict[str, Found] = {}
        for name in reversed(ends):
            readers = self._readers[name]
            is_passed = readers and all(one in ends and one not in needed for one in readers)
            if not ends[name].is_kept and (not is_passed or name in self._shown):
                needed[name] = ends[name]
        return needed

    def _strike(self, ends: dict[str, Found], needed: Iterable[str]) -> None:
        """Remove steps and all that come after them."""
        struck = list(needed)
        for name in struck:  # grows while it is read
            if ends.pop(name, None) is not None:
                struck += self._graph.successors[name]


def is_foreseeable(step: Step) -> bool:
    """Return whether a step has a cache, and is done once whatever it reads."""
    return (
        step.cache is not None
        and step.when is None
        and step.foreach is None
        and step.loop is None
        and not isinstance(step.action, Group)
    )
