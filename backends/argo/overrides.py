"""The escape hatch: content for Argo that is merged in last."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.backends.argo.pods import Tree
from couler.backends.argo.tags import Tagged


def merge(tree: Tree, overrides: Mapping[str, t.Any]) -> Tree:
    """Return a tree with an escape hatch's content merged in: objects by key, the rest replaced."""
    merged = dict(tree)
    for key, value in overrides.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = merge(old, value)
        else:
            merged[key] = _meant(value)
    return merged


def _meant(value: object) -> t.Any:
    """An override as it is; its tags are meant for Argo."""
    if isinstance(value, str):
        return Tagged(value)
    if isinstance(value, Mapping):
        return {key: _meant(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_meant(inner) for inner in value]
    return value
