"""Gates: tasks of a part that stand for edges from steps in other templates."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Iterator, Sequence

from couler.backends.argo.branches import WELL
from couler.backends.argo.elsewhere import Edge, unfulfilled
from couler.backends.argo.expressions import tag
from couler.backends.argo.parts import ENDS_TEMPLATE
from couler.backends.argo.pods import Tree

_MOST_REPEATS = 1000
"""How often Go's regular expressions let something be repeated."""

_Key: t.TypeAlias = tuple[str | frozenset[str], Edge]


class Ends(t.Protocol):
    """Knows how steps in other templates ended."""

    def end(self, name: str) -> tuple[str, int]:
        """Return an expression for a text with the letter of a step's end, and its place there."""
        ...

    def code(self, name: str) -> str:
        """An expression for the letter of a step's end."""
        ...

    def part_of(self, name: str) -> str | None:
        """The task of the template that a step runs in; None if that has ended before."""
        ...


class Gates:
    """The gates of one template."""

    def __init__(self, ends: Ends, take_name: Callable[[], str]) -> None:
        self._ends = ends
        self._take_name = take_name
        self._gates: dict[_Key, Tree] = {}

    @property
    def tasks(self) -> list[Tree]:
        """All gates, in the order in which they were asked for."""
        return list(self._gates.values())

    def one(self, name: str, edge: Edge) -> str:
        """Return the gate of an edge from one step."""
        return self._gate((name, edge), [name], lambda: self._is_unmet(name, edge))

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

    def _is_unmet(self, name: str, edge: Edge) -> str:
        return unfulfilled(edge, self._ends.code(name))

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
