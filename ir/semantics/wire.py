"""The text by which values travel, and what it stands for (docs/semantics.md, section 9).

Pods of groups and DAG files carry these functions, and name the errors themselves.
"""

from __future__ import annotations

import json
from typing import Any

from couler.errors import EvaluationError, WireError

MAX_VALUE_BYTES = 65536
"""Largest value that travels, in bytes of UTF-8; larger data goes through a file."""


def dump_json(value: object) -> str:
    """Return compact JSON with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value: object, kind: str = "str") -> str:
    """Return the text by which a value travels to a reader of some type."""
    return value if isinstance(value, str) and kind != "json" else dump_json(value)


def matches(value: object, kind: str) -> bool:
    """Return whether a JSON value may stand where a type is declared."""
    types = {"int": int, "float": (int, float), "bool": bool, "list": (list, tuple), "dict": dict}
    is_kind = isinstance(value, types.get(kind, str))  # type: ignore[arg-type]
    return kind == "json" or (is_kind and isinstance(value, bool) == (kind == "bool"))


def decode(text: str, kind: str = "json") -> Any:
    """Return the value that a text stands for, by its declared type."""
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


def to_text(text: str, kind: str = "json") -> str:
    """Return a value as a reader of text gets it: a text in JSON as it is, all else as written."""
    value = decode(text) if kind == "json" else text
    return value if isinstance(value, str) else text


def as_type(text: str, kind: str, wanted: str) -> str:
    """Return the text of a value of one type as that of another."""
    if wanted != "json":
        return to_text(text, kind)
    return dump_json(text) if kind in ("str", "file", "directory") else text


def part(value: Any, *path: str | int) -> Any:
    """Return a part of a JSON value by keys and indexes; text is read as JSON first."""
    found = decode(value) if isinstance(value, str) else value
    for key in path:
        keys: Any = found if isinstance(found, dict) else ()
        if isinstance(found, (list, tuple)):
            keys = range(len(found))
        if key not in keys:
            raise EvaluationError(f"there is no {key!r} in {dump_json(found)[:60]}")
        found = found[key]
    return found


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
