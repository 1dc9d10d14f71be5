"""What an answer must have to be taken for one of the server's."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

Shape: t.TypeAlias = Mapping[str, "type | Shape"]
"""Names of an object's entries, with a dot before those of an object in it, and what stands there:
values of a type, or a list of objects of another shape. An empty list may be null, or not stand
there: servers in Go write it so."""


def lacking(answer: t.Any, shape: Shape) -> str | None:
    """Return what a JSON value lacks to be an object of a shape; None if it is one."""
    if not isinstance(answer, dict):
        return "an object"
    for name, wanted in shape.items():
        found: t.Any = answer
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(wanted, type):
            is_so = isinstance(found, wanted)
        else:
            listed = [] if found is None else found
            is_so = isinstance(listed, list) and all(lacking(one, wanted) is None for one in listed)
        if not is_so:
            return name
    return None
