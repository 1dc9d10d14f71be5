"""Values as text: how they are written and read (docs/semantics.md, section 9).

Pods of groups and DAG files carry these functions, with errors of their own.
"""

from __future__ import annotations

import json
import re
from typing import Any

from couler.errors import EvaluationError, WireError

MAX_VALUE_BYTES = 65536
"""Largest value that travels, in bytes of UTF-8; larger data goes through a file."""


def dump_json(value: object) -> str:
    """Return compact JSON; beyond ASCII only U+2028 and U+2029 are escaped, as Go does."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise WireError(f"{value!r:.60} has no JSON form: {error}") from error
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def encode(value: object, kind: str = "str") -> str:
    """Return the text by which a value travels to a reader of some type."""
    return value if isinstance(value, str) and kind != "json" else dump_json(value)


def matches(value: object, kind: str) -> bool:
    """Return whether a JSON value is of a declared type."""
    numbers, lists = (int, float), (list, tuple)
    types: Any = {"int": int, "float": numbers, "bool": bool, "list": lists, "dict": dict}
    is_kind = isinstance(value, types.get(kind, str))
    return kind == "json" or (is_kind and isinstance(value, bool) == (kind == "bool"))


def decode(text: str, kind: str = "json") -> Any:
    """Return the value of a text of a declared type."""
    if kind in ("str", "file", "directory"):
        return text
    why = ""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
        if matches(value, kind):
            return float(value) if kind == "float" else value
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        why = f": {error}"
    raise WireError(f"{text!r:.60} is declared {kind}, but it is not one{why}")


def typed(text: str, kind: str) -> Any:
    """Return the value of a text, or the text itself if it is not of its declared type."""
    try:
        return decode(text, kind)
    except WireError:  # it fails who reads it, not who made it
        return text


def to_text(text: str, kind: str = "json") -> str:
    """Return a value as a reader of text gets it: a text in JSON as it is, all else as written."""
    value = decode(text) if kind == "json" else text
    return value if isinstance(value, str) else text


def as_type(text: str, kind: str, wanted: str) -> str:
    """Return the text of a value of one type as that of another."""
    if wanted != "json":
        return to_text(text, kind)
    return dump_json(text) if kind in ("str", "file", "directory") else text


def as_json(text: str, kind: str = "json") -> str:
    """Return a value as JSON as it is written, less white space; fail if it is not of its type."""
    decode(text, kind)
    return dump_json(text) if kind in ("str", "file", "directory") else "".join(tokens(text))


def part(text: str, *path: str | int) -> str:
    """Return a part of a text that is read as JSON, as it is written there, less white space."""
    found = as_json(text)
    for key in path:
        inside = parts(found)
        if key not in inside:
            raise EvaluationError(f"there is no {key!r} in {found:.60}")
        found = inside[key]
    return found


def elements(text: str) -> list[str]:
    """Return the elements of a list, of which the text is read as JSON, as they are written."""
    if not isinstance(decode(text), list):
        raise EvaluationError(f"a list is needed, but this is none: {text:.60}")
    return list(parts(text).values())


def parts(text: str) -> dict[Any, str]:
    """Return what a list or an object has inside, as it is written there, by index or key."""
    found: dict[Any, str] = {}
    words = tokens(text)
    depth, start, is_list = 0, 1, words[0] == "["
    for at, token in enumerate(words):
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if start < at and (depth == 0 or (depth == 1 and token == ",")):
            key = len(found) if is_list else json.loads(words[start])
            found[key] = "".join(words[start if is_list else start + 2 : at])
            start = at + 1
    return found


def tokens(text: str) -> list[str]:
    """Return the texts, scalars and signs of JSON as they are written."""
    return re.findall(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}:,]|[^][{}:,"\s]+', text)


def read_content(content: bytes, what: str) -> str:
    """Return the text of an output from the bytes that hold it."""
    if len(content) > MAX_VALUE_BYTES:
        raise WireError(
            f"{what} is larger than {MAX_VALUE_BYTES:,} bytes, the most that travels between "
            "steps. Return a File for larger data"
        )
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise WireError(f"{what} is no UTF-8 text. Return a File for other data") from None
