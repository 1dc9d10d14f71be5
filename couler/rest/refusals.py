"""What a server says when it refuses, as one line."""

from __future__ import annotations

import json
import re
import typing as t

_LONGEST = 1000


def reason_of(body: bytes) -> str:
    """Return the reason in the body of a refusal.

    It reads what Kubernetes and Argo (`message`) and Airflow (`detail`, a text or a list of the
    places that are wrong) send; else it is the text, without marks of HTML.

    Examples
    --------
    >>> reason_of(b'{"code": 5, "message": "not found"}')
    'not found'
    >>> reason_of(b'{"detail": [{"loc": ["body", "conf"], "msg": "Input should be a map"}]}')
    'body.conf: Input should be a map'
    >>> reason_of(b"<html><h1>Bad Gateway</h1></html>")
    'Bad Gateway'
    >>> reason_of(b"")
    'no reason is given'
    """
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
