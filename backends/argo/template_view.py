"""One template of a divided scope: its steps, and the gates for edges from other templates."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property

from couler.backends.argo.branches import WELL
from couler.backends.argo.dags import strictly_needed
from couler.backends.argo.divided_scope import DividedScope
from couler.backends.argo.elsewhere import Edge, PartRenderer, unfulfilled
from couler.backends.argo.parts import ENDS_TEMPLATE
from couler.backends.argo.pods import Tree
from couler.backends.argo.scope import TAG_SAFE
from couler.backends.argo.tags import encoding, member, tag
from couler.ir.values import StepRef
from couler.ir.workflow import Step

if t.TYPE_CHECKING:
    from couler.backends.argo.part_dags import Part


class TemplateView:
    """The steps of a scope as one template sees them."""

    def __init__(self, scope: DividedScope, here: Sequence[Step]) -> None:
        self._scope = scope
        self._here = {step.name: step for step in here}
        self._part_of: Mapping[str, Part] = {}
        """The parts below, by the names of the steps in them."""
        self._gates = Gates(self, scope.take_gate)
        self._lets: dict[str, tuple[str, str]] | None = None
        """Letters that have a name in the expression that is written, each after those it needs."""

    @property
    def asks_for_failure(self) -> AbstractSet[str]:
        """The steps of the scope that Argo calls omitted when they are skipped."""
        return self._scope.branches.asks_for_failure

    def is_here(self, name: str) -> bool:
        """Whether a step is a task of the template."""
        return name in self._here

    def part_of(self, name: str) -> str | None:
        """The task of the template that a step runs in; None if that has ended before."""
        part = self._part_of.get(name)
        return None if part is None else part.task

    def end(self, name: str) -> tuple[str, int]:
        """Return an expression for a text with the letter of a step's end, and its place there."""
        if name in self._here:
            status = self._status(name)
            if self._scope.branches.is_plain(name):
                return status, 1
            return self._named(name, status), 0
        part = self._part_of.get(name)
        if part is not None:
            return f"{part.outputs}.s", part.place_of(name)
        return self._end_around(name)

    def _named(self, name: str, status: str) -> str:
        """An expression for a letter that Argo's phase alone does not tell; in outputs a name."""
        if self._lets is None:
            return self._scope.branches.code(name, status, self.code)
        if name not in self._lets:
            code = self._scope.branches.code(name, status, self.code)
            self._lets[name] = f"x{len(self._lets)}", code
        return self._lets[name][0]

    def _status(self, name: str) -> str:
        return f"{member('tasks', self._scope.task_names[name])}.status"

    def _end_around(self, name: str) -> tuple[str, int]:
        """What `end` returns for a step that runs neither here nor below."""
        raise KeyError(name)

    def _value_around(self, reference: StepRef) -> str:
        """What `value` returns for an output that is made neither here nor below."""
        raise KeyError(reference.step)

    def code(self, name: str) -> str:
        """An expression for the letter of a step's end."""
        text, place = self.end(name)
        return text if text.startswith("(") else f"{text}[{place}:{place + 1}]"

    def value(self, reference: StepRef) -> str:
        """An expression for what Argo keeps of an output, with braces encoded; empty if nothing."""
        if reference.step in self._here:
            kept = self.renderer().kept_or_empty(reference)
            is_safe = self._scope.view.type_of(reference) in TAG_SAFE
            return kept if is_safe else encoding(kept)
        part = self._part_of.get(reference.step)
        if part is not None:
            return f"{part.outputs}.{part.output_of(reference)}"
        return self._value_around(reference)

    def gate(self, name: str, edge: Edge) -> str:
        """The task that is skipped if a step's end fulfils an edge, and ends well if not."""
        return self._gates.one(name, edge)

    @cached_property
    def has_joint_gates(self) -> bool:
        """Whether one gate for all that a step needs makes fewer gates than one for each."""
        known = self._scope.view.steps.keys() - self._here.keys()
        sets = {
            frozenset(known.intersection(strictly_needed(step))) for step in self._here.values()
        }
        return len(sets - {frozenset()}) < len(frozenset[str]().union(*sets))

    def joint_gate(self, names: Sequence[str]) -> str:
        """The task that is skipped if several steps ended well, and ends well if not."""
        return self._gates.joint(names)

    def renderer(self) -> PartRenderer:
        """Return what writes the values of its tasks."""
        scope = self._scope
        return PartRenderer(scope.view, scope.task_names, scope.location, self)

    def _with_names(self, write: Callable[[], str]) -> str:
        """An expression that defines the names of the letters in it."""
        self._lets = {}
        text = write()
        lets = "".join(f"let {name} = {code}; " for name, code in self._lets.values())
        self._lets = None
        return lets + text


_MOST_REPEATS = 1000
"""How often Go's regular expressions let something be repeated."""

_Key: t.TypeAlias = tuple[str | frozenset[str], Edge]


class Gates:
    """The gates of one template."""

    def __init__(self, ends: TemplateView, take_name: Callable[[], str]) -> None:
        self._ends = ends
        self._take_name = take_name
        self._gates: dict[_Key, Tree] = {}

    @property
    def tasks(self) -> list[Tree]:
        """All gates, in the order in which they were asked for."""
        return list(self._gates.values())

    def one(self, name: str, edge: Edge) -> str:
        """Return the gate of an edge from one step."""
        return self._gate((name, edge), [name], lambda: unfulfilled(edge, self._ends.code(name)))

    def joint(self, names: Sequence[str]) -> str:
        """Return the gate for the success of several steps."""
        return self._gate(
            (frozenset(names), "success"), names, lambda: " || ".join(self._are_unmet(names))
        )

    def _gate(self, key: _Key, names: Iterable[str], when: Callable[[], str]) -> str:
        gate = self._gates.get(key)
        if gate is None:
            gate = {"name": self._take_name(), "template": ENDS_TEMPLATE}
            parts = dict.fromkeys(filter(None, map(self._ends.part_of, names)))
            if parts:
                gate["depends"] = " && ".join(parts)
            gate["when"] = tag(when())
            self._gates[key] = gate
        return str(gate["name"])

    def _are_unmet(self, names: Iterable[str]) -> Iterator[str]:
        """Yield expressions of which one holds if one of several steps did not end well."""
        places: dict[str, list[int]] = {}
        for name in names:
            text, place = self._ends.end(name)
            if text.startswith("("):  # the letter itself
                yield unfulfilled("success", text)
            else:
                places.setdefault(text, []).append(place)
        for text, found in places.items():
            for start, stop in _ranges(found):
                all_well = f"'^[{WELL}]{{{stop - start}}}$'"
                yield f"!({text}[{start}:{stop}] matches {all_well})"


def _ranges(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of each run of consecutive numbers, cut where it is too long."""
    start = stop = -1
    for place in sorted(places):
        if place != stop or stop - start == _MOST_REPEATS:
            if stop >= 0:
                yield start, stop
            start = place
        stop = place + 1
    if stop >= 0:
        yield start, stop
