"""Keeping a key out of logs and messages."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

HIDDEN = "***"

SHORTEST = 8
"""A shorter key is a placeholder, such as `none`, that texts may have by chance."""

_T = t.TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Mask:
    """Takes a key out of whatever is written."""

    key: str = field(repr=False)

    def of(self, value: _T) -> _T:
        """Return a value of JSON, or a text, without the key."""
        return t.cast("_T", self._of(value)) if len(self.key) >= SHORTEST else value

    def _of(self, value: object) -> object:
        if isinstance(value, str):
            return value.replace(self.key, HIDDEN)
        if isinstance(value, Mapping):
            return {self._of(name): self._of(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._of(one) for one in value]
        return value
