"""Variables of a run (`workflow.*`) in tags and expressions: found and renamed."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable

from couler.backends.argo.tags import Tagged, member

Name: t.TypeAlias = tuple[str, ...]
"""A variable below `workflow`: ("name",), or ("parameters", "rate")."""

Rename: t.TypeAlias = Callable[[Name], Name]
"""Gives the variable that stands in the place of one."""

_TAG = re.compile(r"\{\{(=?)(.*?)\}\}", re.DOTALL)
_PLAIN = re.compile(r"(\s*)workflow\.([-\w.]+)(\s*)")
_TOKEN = re.compile(
    r"""
    (?P<text> '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*` )
    | (?P<variable> (?<![\w.$#]) workflow
        (?P<members> (?: \s*\??\.\s*[A-Za-z_]\w*
                       | \s*(?:\?\.)?\[\s*(?:'[^'\\]*'|"[^"\\]*")\s*\] )+ ) )
    """,
    re.VERBOSE | re.DOTALL,
)
_MEMBER = re.compile(r"""\.\s*([A-Za-z_]\w*)|\[\s*(?:'([^']*)'|"([^"]*)")\s*\]""")

BARE_FIELDS = frozenset({"expression", "fromExpression", "successCondition", "failureCondition"})
"""Fields that are expressions without braces; the conditions are so in requests only."""

EXPRESSIONS = frozenset({"expression", "fromExpression"})


def rename_in_tags(text: str, rename: Rename) -> str:
    """Return a text in whose tags variables of the run are renamed; all else is as it was."""

    def renamed(found: re.Match[str]) -> str:
        mark, body = found[1], found[2]
        if mark:
            return "{{=" + rename_in_expression(body, rename) + "}}"
        plain = _PLAIN.fullmatch(body)
        if plain is None:
            return found[0]
        new = ".".join(rename(_split(plain[2])))
        return "{{" + f"{plain[1]}workflow.{new}{plain[3]}" + "}}"

    return _TAG.sub(renamed, text)


def _split(name: str) -> Name:
    """Return the parts of a variable in a plain tag; names of parameters may hold dots."""
    parts = name.split(".")
    for length, head in ((1, ("parameters",)), (2, ("outputs", "parameters"))):
        if tuple(parts[:length]) == head and len(parts) > length:
            return (*head, ".".join(parts[length:]))
    if parts[0] in ("labels", "annotations") and len(parts) > 1:
        return (parts[0], ".".join(parts[1:]))
    return tuple(parts)


def rename_in_expression(text: str, rename: Rename) -> str:
    """Return an expression in which variables of the run are renamed; texts in it stay."""

    def renamed(found: re.Match[str]) -> str:
        if found["variable"] is None:
            return found[0]
        members = [
            next(filter(None, one.groups()), "") for one in _MEMBER.finditer(found["members"])
        ]
        old = tuple(members)
        head = _variable_of(old)
        new = rename(head)
        if new == head:
            return found[0]
        return member("workflow", *new) + _rest(found["members"], len(head))

    return _TOKEN.sub(renamed, text)


def _variable_of(members: Name) -> Name:
    """Return the part of an access that is a variable; what follows is access to its value."""
    if members[:2] == ("outputs", "parameters"):
        return members[:3]
    if members[0] in ("parameters", "labels", "annotations", "creationTimestamp"):
        return members[:2]
    return members[:1]


def _rest(members: str, count: int) -> str:
    places = [one.end() for one in _MEMBER.finditer(members)]
    return members[places[count - 1] :]


def rename_everywhere(tree: t.Any, rename: Rename) -> t.Any:
    """Return a template in whose tags and expressions variables of the run are renamed."""
    return _renamed(tree, rename, is_expression=False, is_request=False)


def _renamed(tree: t.Any, rename: Rename, *, is_expression: bool, is_request: bool) -> t.Any:
    if isinstance(tree, str):
        if "workflow" not in tree:
            return tree
        if is_expression:
            return Tagged(rename_in_expression(tree, rename))
        return Tagged(rename_in_tags(tree, rename)) if isinstance(tree, Tagged) else tree
    if isinstance(tree, dict):
        found: dict[str, t.Any] = {}
        for key, value in tree.items():
            is_bare = key in (BARE_FIELDS if is_request else EXPRESSIONS)
            found[key] = _renamed(
                value,
                rename,
                is_expression=is_bare and isinstance(value, str),
                is_request=key == "http",
            )
        return found
    if isinstance(tree, list | tuple):
        return [
            _renamed(value, rename, is_expression=False, is_request=is_request) for value in tree
        ]
    return tree
