"""Inputs of groups as what they are read by, made only where they are read."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping

from couler.ir.values import Value
from couler.ir.wire import ValueType
from couler.ir.workflow import Input

R = t.TypeVar("R")


class Inputs(Mapping[str, R]):
    """The inputs of a group by name, each made when it is asked for, and once."""

    def __init__(self, inputs: Iterable[Input], read: Callable[[Value, ValueType], R]) -> None:
        self._values = {one.name: (one.value, one.type) for one in inputs if one.value is not None}
        self._read = read
        self._made: dict[str, R] = {}

    @property
    def types(self) -> dict[str, ValueType]:
        """The declared types by name."""
        return {name: declared for name, (_, declared) in self._values.items()}

    def __getitem__(self, name: str) -> R:
        if name not in self._made:
            self._made[name] = self._read(*self._values[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
