"""Lists of the files below a location outside of a workflow, which are not fetched."""

from __future__ import annotations

import re
import typing as t

from couler.ir.artifacts import (
    AzureLocation,
    GcsLocation,
    Location,
    OssLocation,
    PluginLocation,
    S3Location,
)
from couler.ir.base import Variant

LISTED = (S3Location, OssLocation, GcsLocation, AzureLocation, PluginLocation)
"""The kinds of locations that have many files below them."""

_PARTS = re.compile(r"(?P<deep>\*\*/)|(?P<all>\*\*)|(?P<name>\*)|(?P<one>\?)|(?P<set>\[)|.", re.S)
_SET = re.compile(r"\[(!?)([^]\[\\/^&~|]+)\]")
_SPECIAL = frozenset(".+*?()|[]{}^$\\")


class ListFiles(Variant):
    """List the files below a location, at any depth, without fetching them.

    The output `result` is the list of their keys, as the storage names them, in the order of their
    code points. The step fails if there is no file below the location.
    """

    kind: t.Literal["list_files"] = "list_files"
    at: Location
    pattern: str | None = None
    """Only those whose path below the location fits: see `pattern_expression`."""


def pattern_expression(pattern: str) -> str:
    r"""Return the regular expression of a pattern, as Python and Go read it, for a whole path."""
    made: list[str] = []
    position = 0
    while position < len(pattern):
        found = _PARTS.match(pattern, position)
        assert found is not None, "every character is some part"
        text, position = found.group(), found.end()
        match found.lastgroup:
            case "deep":
                made.append("(?:(?s:.)*/)?")
            case "all":
                made.append("(?s:.)*")
            case "name":
                made.append("[^/]*")
            case "one":
                made.append("[^/]")
            case "set":
                chosen = _SET.match(pattern, found.start())
                if chosen is None:
                    raise ValueError('"[" begins no set of characters, such as [a-z] or [!0-9]')
                made.append(f"[{'^/' if chosen[1] else ''}{chosen[2]}]")
                position = chosen.end()
            case _:
                made.append(f"\\{text}" if text in _SPECIAL else text)
    expression = "".join(made)
    try:
        re.compile(expression)
    except re.error as error:
        raise ValueError(f"a set of characters is none: {error.msg}") from error
    return expression


def fitting(paths: t.Iterable[str], pattern: str | None) -> list[str]:
    """Return the paths that fit a pattern."""
    if pattern is None:
        return list(paths)
    expression = re.compile(pattern_expression(pattern))
    return [path for path in paths if expression.fullmatch(path)]
