"""Values of the steps of a group, worked out in its pod (docs/semantics.md, section 9)."""

from __future__ import annotations

import json
import os
from typing import Any

MAX_VALUE_BYTES = 65536
TEXTS = ("str", "file", "directory")
PYTHON_TYPES = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
}


class UnreadableError(Exception):
    """A value cannot be worked out; the step that reads it, or that gave it, fails."""


class MissingError(UnreadableError):
    """A step did not give what is read, or the pod was not given it."""


def resolve(value: Any, outputs: dict[str, dict[str, tuple[str, str]]]) -> tuple[str, str]:
    """Return the text and type of a value of a definition."""
    if isinstance(value, str):
        return value, "str"
    if "literal" in value:
        return from_json(value["literal"])
    if "given" in value:
        name = value["given"]
        if "COULER_INPUT_" + name not in os.environ:
            raise MissingError(f"the pod was not given its input {name}")
        return os.environ["COULER_INPUT_" + name], value["type"]
    if "step" in value:
        step, output = value["step"], value["output"]
        found = outputs.get(step, {}).get(output)
        if found is None:
            raise MissingError(f'the output "{output}" of "{step}" cannot be read')
        return found
    if "field" in value:
        return from_json(pick(to_json(resolve(value["field"], outputs)), value["path"]))
    if "template" in value:
        return "".join(to_text(resolve(part, outputs)) for part in value["template"]), "str"
    problem = MissingError("there is no value to choose from")
    for option in value["first"]:
        try:
            return resolve(option, outputs)
        except MissingError as error:
            problem = error
    raise problem


def from_json(value: Any) -> tuple[str, str]:
    """Return a JSON value as it travels without a declared type."""
    return (value, "str") if isinstance(value, str) else (dump(value), "json")


def to_json(stored: tuple[str, str]) -> Any:
    """Return the JSON value that a text of a type stands for."""
    text, kind = stored
    if kind in TEXTS:
        return text
    try:
        value = json.loads(text)
        dump(value)
    except (ValueError, RecursionError):
        raise UnreadableError(f"{text[:60]!r} is declared {kind}, but it is no JSON") from None
    if kind != "json":
        is_bool = isinstance(value, bool) and kind != "bool"
        if is_bool or not isinstance(value, PYTHON_TYPES[kind]):
            raise UnreadableError(f"{text[:60]!r} is declared {kind}, but it is not one")
    if kind != "float":
        return value
    try:
        return float(value)
    except OverflowError:
        raise UnreadableError(f"{text[:60]!r} is too large for float") from None


def to_text(stored: tuple[str, str]) -> str:
    """Return the text that a process sees of a value."""
    if stored[1] == "json":
        value = to_json(stored)
        if isinstance(value, str):
            return value
    return stored[0]


def as_type(stored: tuple[str, str], kind: str) -> tuple[str, str]:
    """Return a value as one of another declared type."""
    if kind != "json":
        return to_text(stored), kind
    return (dump(stored[0]) if stored[1] in TEXTS else stored[0]), "json"


def check_text(text: str) -> None:
    """Refuse a text that no process can be given."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableError(f"it reads {text[:60]!a}, which is no text: {error}") from None


def pick(value: Any, path: list[Any]) -> Any:
    """Return a part of a JSON value; a text is read as JSON first."""
    part = to_json((value, "json")) if isinstance(value, str) else value
    for key in path:
        is_there = (
            isinstance(part, dict) and key in part
            if isinstance(key, str)
            else isinstance(part, list) and 0 <= key < len(part)
        )
        if not is_there:
            raise UnreadableError(f"there is no {key!r} in {dump(part)[:60]}")
        part = part[key]
    return part


def dump(value: Any) -> str:
    """Return compact JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise UnreadableError(f"{value!r} has no JSON form: {error}") from None


def read_value(content: bytes, name: str, kind: str) -> tuple[str, str]:
    """Return an output from the bytes that hold it, less one final newline."""
    if content.endswith(b"\n"):
        content = content[:-1]
    if len(content) > MAX_VALUE_BYTES:
        raise UnreadableError(
            f'the output "{name}" is larger than {MAX_VALUE_BYTES:,} bytes, the most that travels '
            "between steps. Return a File for larger data"
        )
    try:
        return content.decode(), kind
    except UnicodeDecodeError:
        raise UnreadableError(
            f'the output "{name}" is no UTF-8 text. Return a File for other data'
        ) from None
