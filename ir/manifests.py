"""Values of the workflow inside the manifests of jobs."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field as ModelField

from couler.ir.base import Node
from couler.ir.values import Value

Path: t.TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root of a manifest."""


JsonType: t.TypeAlias = t.Literal["str", "int", "float", "bool", "list", "dict", "json"]


class ManifestValue(Node):
    """A value that is put into the manifest of a job before the job is created."""

    path: t.Annotated[Path, ModelField(min_length=1)]
    """Where the manifest has the `null` that the value stands for."""
    value: Value
    type: JsonType = "str"
    """What the resource takes there: `str` for text, whatever the value is; else JSON."""


def place_text(path: Path) -> str:
    """Return a path as people write it."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif key.isidentifier():
            text += f".{key}" if text else key
        else:
            text += f'["{key}"]'
    return text


def is_hole(manifest: Mapping[str, t.Any], path: Path) -> bool:
    """Return whether a manifest has a place for a value: `null` at the end of the path."""
    tree: t.Any = manifest
    for key in path:
        if isinstance(key, int):
            if not isinstance(tree, list | tuple) or not 0 <= key < len(tree):
                return False
        elif not isinstance(tree, Mapping) or key not in tree:
            return False
        tree = tree[key]
    return tree is None


def filled(
    manifest: Mapping[str, t.Any], values: Iterable[tuple[Path, object]]
) -> dict[str, t.Any]:
    """Return a manifest as plain dicts and lists, with values at their places."""
    tree: dict[str, t.Any] = thawed(manifest)
    for path, value in values:
        inner: t.Any = tree
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return tree


def split(
    tree: object, is_value: Callable[[object], bool]
) -> tuple[t.Any, list[tuple[Path, t.Any]]]:
    """Take the values out of a tree: return it with `null` in their places, and the values."""
    found: list[tuple[Path, t.Any]] = []

    def take(part: object, path: Path) -> object:
        if is_value(part):
            found.append((path, part))
            return None
        if isinstance(part, Mapping):
            return {key: take(one, (*path, key)) for key, one in part.items()}
        if isinstance(part, Sequence) and not isinstance(part, str | bytes):
            return [take(one, (*path, index)) for index, one in enumerate(part)]
        return part

    return take(tree, ()), found


def thawed(tree: t.Any) -> t.Any:
    """Return a frozen JSON value as plain dicts and lists."""
    if isinstance(tree, Mapping):
        return {key: thawed(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [thawed(value) for value in tree]
    return tree
