"""Affinities that steps have of their own, beside what chooses their machines."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

__all__ = ["affinity_obstacle", "merged_affinity"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_Json: t.TypeAlias = Mapping[str, t.Any]


def affinity_obstacle(affinity: _Json, *, machines: int) -> str | None:
    """Return why a step with an affinity cannot be bound to machines; None if it can."""
    if _part(affinity, "nodeAffinity").get(_REQUIRED):
        return "it has an affinity already, which requires machines"
    if _part(affinity, "podAffinity").get(_REQUIRED):
        return "its affinity requires other pods beside it, and where these run is not known"
    if _part(affinity, "podAntiAffinity").get(_REQUIRED) and machines < 2:
        return (
            "its pods must stay apart from others, and where it would run there is one machine "
            "alone"
        )
    return None


def merged_affinity(own: _Json, made: _Json) -> dict[str, t.Any]:
    """Return an affinity of a step with the terms for nodes that were chosen."""
    if not made:
        return dict(own)
    node = _part(own, "nodeAffinity")
    terms = {**node, **_part(made, "nodeAffinity")}
    preferred = [
        *(node.get(_PREFERRED) or ()),
        *(_part(made, "nodeAffinity").get(_PREFERRED) or ()),
    ]
    if preferred:
        terms[_PREFERRED] = preferred
    return {**own, "nodeAffinity": terms}


def _part(affinity: _Json, name: str) -> _Json:
    found = affinity.get(name)
    return found if isinstance(found, Mapping) else {}
