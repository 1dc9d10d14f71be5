r"""JSONPaths as kubectl has them, of one part: keys, places in lists, all of them, or some."""

from __future__ import annotations

import json
import re

Part = str | int | list[object]

_PART = re.compile(
    r"""
      \.?\[\s*(?P<index>-?\d+)\s*\]
    | \.?\[\s*(?P<quoted>'[^']*'|"[^"]*")\s*\]
    | (?P<all>\.?\[\s*\*\s*\]|\.\*)
    | \.?\[\s*\?\s*\(\s*@\.(?P<field>[\w./-]+)\s*(?P<sign>==|!=)\s*
      (?P<value>'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false)\s*\)\s*\]
    | \.(?P<key>(?:\\.|[^.\[\]\\*{}'"\s])+)
    """,
    re.VERBOSE,
)


def read_path(path: str) -> list[Part] | None:
    r"""Return a path as data; None for one that is more than that."""
    found = re.fullmatch(r"\s*\{\s*([@$]?)(.*?)\s*\}\s*", path, re.DOTALL)
    if found is None:
        return None
    text, place, parts = found[2], 0, list[Part]()
    if text and text[0] not in ".[":
        text = f".{text}"
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            return None
        parts.append(_part(part))
        place = part.end()
    return parts


def _part(part: re.Match[str]) -> Part:
    if part["index"]:
        return int(part["index"])
    if part["quoted"]:
        return part["quoted"][1:-1]
    if part["all"]:
        return []
    if part["field"]:
        value = part["value"]
        given = value[1:-1] if value[0] in "'\"" else json.loads(value)
        return [part["field"].split("."), part["sign"], given]
    return re.sub(r"\\(.)", r"\1", part["key"])
