"""The places for text in the template of a step, and what is written there."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence

from couler.backends.argo.expressions import tag
from couler.backends.argo.tags import Tagged, variable
from couler.backends.argo.text import protect


class Filled(t.NamedTuple):
    """A place for a text in a template, and what fills it."""

    name: str
    text: str | None
    """The text, or None where it is a parameter."""
    is_delicate: bool
    """The parameter's value may hold what the kubelet or a plain tag would change."""


class Places:
    """The places of one template by name."""

    def __init__(self, filled: Sequence[Filled]) -> None:
        self._filled = {place.name: place for place in filled}

    def __iter__(self) -> Iterator[Filled]:
        return iter(self._filled.values())

    def __getitem__(self, name: str) -> Filled:
        return self._filled[name]

    def _tag(self, name: str, *, guarded: bool) -> Tagged:
        """A tag for a parameter; guarded against the kubelet, which would change dollars."""
        if not self._filled[name].is_delicate:
            return variable(f"inputs.parameters.{name}")
        if guarded:
            return tag(f"replace(inputs.parameters.{name}, '$', '$$')")
        return tag(f"inputs.parameters.{name}")

    def text(self, name: str) -> str:
        """Return a text for a process: command, arguments, environment."""
        text = self._filled[name].text
        return self._tag(name, guarded=True) if text is None else protect(text)

    def plain(self, name: str) -> str:
        """Return a text that no kubelet reads: keys, requests."""
        text = self._filled[name].text
        return self._tag(name, guarded=False) if text is None else text
