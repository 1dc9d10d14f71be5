"""Rules for what is read of a resource of the cluster: conditions on its fields, and JSONPaths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from couler.ir.verify.names import is_qualified

_TOKEN = re.compile(r"==|!=|[<>]=|[=<>!(),]|[^\s=<>!(),]+")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_JOINING = frozenset(("&&", "||", "and", "or", "&", "|"))
_INDEX = re.compile(r"\*|-?\d*(:-?\d*){0,2}")
_QUOTED = r"""('[^']*'|"[^"]*")"""
_NAMES = re.compile(rf"\s*{_QUOTED}(\s*,\s*{_QUOTED})*\s*")
_START = re.compile(r"""[.@$\[]|range\s|end$|"|'""")


class _RuleError(ValueError):
    """A rule is broken; the message says which."""


def condition_problem(condition: str) -> str | None:
    """Return what is wrong with a condition on the fields of a resource, or None."""
    try:
        _read_condition(_TOKEN.findall(condition))
    except _RuleError as error:
        return str(error)
    return None


def _read_condition(tokens: list[str]) -> None:
    left = iter([*tokens, ""])
    token = next(left)
    while True:
        is_absence = token == "!"
        _check_key(next(left) if is_absence else token)
        token = next(left)
        if not is_absence and token not in ("", ","):
            token = _read_demand(token, left)
        if token == "":
            return
        if token != ",":
            raise _RuleError(_between(token))
        token = next(left)


def _read_demand(operator: str, left: Iterator[str]) -> str:
    """Read what a value must be, and return the token behind."""
    if operator in ("in", "notin"):
        if next(left) != "(":
            raise _RuleError(f"{operator} is followed by values in parentheses: {operator} (a, b)")
        token = ","
        while token == ",":
            token = next(left)
            if token not in (",", ")"):
                _check_value(token)
                token = next(left)
        if token != ")":
            raise _RuleError("a parenthesis is not closed")
        return next(left)
    value = next(left)
    if operator in ("<", ">"):
        if not re.fullmatch(r"\d+", value):
            told = f"{value!r}" if value else "nothing"
            raise _RuleError(f"{operator} compares with a whole number, not with {told}")
        return next(left)
    if operator not in ("=", "==", "!="):
        raise _RuleError(_between(operator))
    if value in ("", ","):  # an empty text
        return value
    _check_value(value)
    return next(left)


def _between(token: str) -> str:
    if token in _JOINING:
        return (
            f"parts are not joined by {token}, but by commas: all parts of a success condition "
            "must hold, and of a failure condition one"
        )
    if token in ("<=", ">="):
        return f"there is no {token}: take {token[0]} with the whole number " + (
            "after" if token == "<=" else "before"
        )
    return f'"{token}" is neither a comparison nor a comma'


def _check_key(key: str) -> None:
    if key in ("", ","):
        raise _RuleError("a part is empty")
    if not is_qualified(key):
        raise _RuleError(
            f'"{key}" is no path of a field: names and places in lists joined by points, such as '
            "status.conditions.0.type, at most 63 characters; there are no filters"
        )


def _check_value(value: str) -> None:
    if value[:1] in ("'", '"'):
        raise _RuleError(f"the value {value} is written without quotes")
    if not _VALUE.fullmatch(value):
        raise _RuleError(
            f'"{value}" is no value: letters, digits, "-", "_" and ".", at most 63 characters'
        )


def json_path_problem(path: str) -> str | None:
    """Return what is wrong with a JSONPath as kubectl reads it, or None."""
    try:
        parts = list(_braced(path))
        if not parts:
            start = "" if path[:1] in ".[$@" else "."
            raise _RuleError(
                f"has no part in braces, so it is plain text. Write {{{start}{path.strip()}}}"
            )
        for part in parts:
            _check_part(part)
    except _RuleError as error:
        return str(error)
    return None


def _braced(path: str) -> Iterator[str]:
    """Return what stands in braces, without blanks around."""
    place = path.find("{")
    while place >= 0:
        end = _end(path, place + 1, "}")
        yield path[place + 1 : end].strip()
        place = path.find("{", end)


def _end(path: str, place: int, closing: str) -> int:
    """Return where a part is closed; quotes and inner brackets are passed over."""
    while place < len(path):
        char = path[place]
        if char == closing:
            return place
        if char == "\\":
            place += 1
        elif char in "'\"":
            place = path.find(char, place + 1)
            if place < 0:
                raise _RuleError(f"has a {char} that is not closed")
        elif char in "[(":
            place = _end(path, place + 1, "]" if char == "[" else ")")
        place += 1
    raise _RuleError(f"has no {closing} where one is due")


def _check_part(part: str) -> None:
    if not _START.match(part):
        told = f"{{.{part}}}" if part else "such as {.status.phase}"
        raise _RuleError(f'has "{{{part}}}", which does not begin with a point. Write {told}')
    place = part.find("[")
    while place >= 0 and part[:1] not in "'\"":
        end = _end(part, place + 1, "]")
        inner = part[place + 1 : end].strip()
        is_filter = inner.startswith("?(") and inner.endswith(")")
        if not (inner and (is_filter or _INDEX.fullmatch(inner) or _NAMES.fullmatch(inner))):
            raise _RuleError(
                f"has [{inner}]: in brackets are a place, * or a name in quotes, or a filter such "
                'as [?(@.type=="Ready")]'
            )
        place = part.find("[", end)
