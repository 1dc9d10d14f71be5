"""Locations of files, as they stand in the nodes and arguments of a Workflow."""

from __future__ import annotations

import json
import re

from couler.backends.argo.changing import Json

_WORD = re.compile(r"[^\s\"'`\\,\[\]{}()<>]+")
"""What may be a location inside of a text that is no JSON."""

_LONGEST = 4096
"""No location has more letters: keys of S3 have at most 1,024 bytes, paths of Linux 4,096."""


def locations_in(tree: Json) -> set[str]:
    """Return all that may be locations of files in a JSON value, and the folders they are in."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            inside = _inside(one)
            waiting += inside
            for text in () if inside else (one, *_WORD.findall(one)):
                _add(found, text)
    return found


def _inside(text: str) -> list[Json]:
    """Return what a text holds that is a list or an object as JSON; nothing of others."""
    if text[:1] not in ("[", "{"):
        return []
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):  # nested more deeply than is read
        return []


def _add(found: set[str], text: str) -> None:
    """Add a text and the folders that it is in, unless they are known or it is no location."""
    text = text.rstrip("/") if len(text) <= _LONGEST else ""
    while text and text not in found:
        found.add(text)
        text = text.rpartition("/")[0]
