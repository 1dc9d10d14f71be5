"""How values travel between steps, the same on every engine."""

from __future__ import annotations

import json
import typing as t

from couler.errors import WireError
from couler.ir.base import freeze_json

ValueType: t.TypeAlias = t.Literal[
    "str", "int", "float", "bool", "list", "dict", "json", "file", "directory"
]
"""Declared type of an input, output or parameter; `json` is any JSON value."""

MAX_VALUE_BYTES = 64 * 1024
"""Largest value that travels, in bytes of UTF-8; larger data goes through a file."""

MAX_WORD_BYTES = 131_071
"""Longest argument or environment variable that Linux gives to a process, in bytes of UTF-8."""

MAX_LIST_BYTES = 96 * 1024
"""Largest list gathered from the items of a foreach, in bytes of UTF-8."""

MAX_ITEMS = 1000
"""Most items of a foreach over a list that is only known when the workflow runs."""

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list, tuple),
    "dict": (dict,),
    "file": (str,),
    "directory": (str,),
}


def is_file(value_type: ValueType) -> bool:
    """Return whether values of this type are files or directories."""
    return value_type in ("file", "directory")


def matches(value: object, value_type: ValueType) -> bool:
    """Return whether a JSON value may stand where a type is declared."""
    if value_type == "json":
        return True
    if isinstance(value, bool):
        return value_type == "bool"
    return isinstance(value, _PYTHON_TYPES[value_type])


def is_same(one: object, other: object) -> bool:
    """Return whether two values are the same: True is not 1, but 1.0 is, and lists are tuples."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def literal_type(value: object) -> ValueType:
    """Return the type as which a literal travels: that of its JSON, `json` for null."""
    match value:
        case str():
            return "str"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case tuple() | list():
            return "list"
        case dict():
            return "dict"
    return "json"


def dump_json(value: object) -> str:
    """Return compact JSON with characters beyond ASCII as they are."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise WireError(f"{value!r} has no JSON form: {error}") from error


def encode(value: object, value_type: ValueType = "str") -> str:
    """Return the text by which a value travels to a reader of some type."""
    if isinstance(value, str) and value_type != "json":
        return value
    return dump_json(value)


def decode(text: str, value_type: ValueType) -> t.Any:
    """Return the value that a text stands for, by its declared type."""
    if value_type in ("str", "file", "directory"):
        return text
    try:
        value = freeze_json(json.loads(text))
    except (ValueError, RecursionError) as error:  # which is what deep nesting gives
        raise WireError(f"{text[:60]!r} is declared {value_type}, but it is no JSON") from error
    if not matches(value, value_type):
        raise WireError(f"{text[:60]!r} is declared {value_type}, but it is not one")
    if value_type != "float":
        return value
    try:
        return float(value)
    except OverflowError as error:
        raise WireError(f"{text[:60]!r} is declared float, but it is too large for one") from error


def check_size(text: str, limit: int, what: str) -> None:
    """Refuse a text that is too large to travel."""
    size = len(text.encode())
    if size > limit:
        raise WireError(
            f"{what} is {size:,} bytes; at most {limit:,} travel between steps. "
            "Return a File for larger data"
        )
