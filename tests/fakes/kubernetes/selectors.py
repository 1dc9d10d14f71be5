"""Label and field selectors of the Kubernetes API."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.kubernetes.store import Matches

_IN = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")
_COMMA = re.compile(r",(?![^(]*\))")  # not the ones between parentheses


def selector(namespace: str, labels: str, fields: str) -> Matches:
    """The objects of a namespace (of all, if empty) that fit both selectors."""
    wanted_labels = [_requirement(part) for part in _COMMA.split(labels) if part.strip()]
    wanted_fields = [_requirement(part) for part in _COMMA.split(fields) if part.strip()]

    def matches(found: dict[str, Any]) -> bool:
        metadata = found["metadata"]
        if namespace and metadata.get("namespace") != namespace:
            return False
        its_labels = metadata.get("labels") or {}
        return all(
            _fits(its_labels.get(key), operator, values) for key, operator, values in wanted_labels
        ) and all(
            _fits(_field(found, key), operator, values) for key, operator, values in wanted_fields
        )

    return matches


def _requirement(text: str) -> tuple[str, str, frozenset[str]]:
    text = text.strip()
    if found := _IN.fullmatch(text):
        key, operator, values = found.groups()
        return key, operator, frozenset(value.strip() for value in values.split(","))
    for sign, operator in (("!=", "notin"), ("==", "in"), ("=", "in")):
        if sign in text:
            key, _, value = text.partition(sign)
            return key.strip(), operator, frozenset([value.strip()])
    if text.startswith("!"):
        return text[1:].strip(), "absent", frozenset()
    return text, "present", frozenset()


def _fits(value: str | None, operator: str, values: frozenset[str]) -> bool:
    if operator == "in":
        return value in values
    if operator == "notin":
        return value not in values
    return (value is None) == (operator == "absent")


def _field(found: dict[str, Any], path: str) -> str:
    value: Any = found
    for key in path.split("."):
        value = value.get(key, "") if isinstance(value, dict) else ""
    return str(value)
