"""What a server says when it refuses, as one line."""

from __future__ import annotations

import json
import re
import typing as t

_LONGEST = 1000


def reason_of(body: bytes) -> str:
    """Return the reason in the body of a refusal."""
    text = body.decode("utf-8", errors="replace")
    try:
        found = _of_json(json.loads(text))
    except (ValueError, RecursionError):
        found = None
    words = " ".join((found or re.sub(r"<[^<>]*>", " ", text)).split())
    if len(words) > _LONGEST:
        words = words[:_LONGEST] + " ..."
    return words or "no reason is given"


def _of_json(tree: t.Any) -> str | None:
    if isinstance(tree, str):
        return tree
    if isinstance(tree, list):
        told = [one for one in map(_of_json, tree) if one]
        return "; ".join(told) or None
    if not isinstance(tree, dict):
        return None
    if "msg" in tree:
        place = ".".join(map(str, tree.get("loc") or ()))
        return f"{place}: {tree['msg']}" if place else str(tree["msg"])
    for name in ("message", "detail", "reason", "error", "title"):
        found = _of_json(tree.get(name))
        if found:
            return found
    return None
