"""Pieces of Argo's expression language (expr-lang, as in `{{=...}}`)."""

from __future__ import annotations

import json
import re

from couler.backends.argo.tags import Tagged
from couler.ir.wire import dump_json

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote(text: str) -> str:
    r"""Return a string literal without two braces in a row, so that no tag begins or ends in it."""
    body = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return "'" + body.replace("{{", "{\\u007b").replace("}}", "}\\u007d") + "'"


def member(base: str, *names: str, optional: bool = False) -> str:
    """Return access to a member by names, in brackets where a name is no identifier."""
    text = base
    for index, name in enumerate(names):
        safe = optional and index > 0
        if _IDENTIFIER.fullmatch(name):
            text += f"?.{name}" if safe else f".{name}"
        else:
            text += f"?.[{quote(name)}]" if safe else f"[{quote(name)}]"
    return text


def json_literal(value: object) -> str:
    """Return an expression for a JSON value."""
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return dump_json(value)
    return f"fromJSON({quote(dump_json(value))})"


def tag(expression: str) -> Tagged:
    """Return an expression as a tag."""
    gap = " " if expression.endswith("}") else ""
    return Tagged("{{=" + expression + gap + "}}")
