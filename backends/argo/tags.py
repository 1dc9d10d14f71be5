"""Tags and expressions of Argo in a manifest, and texts of the user in which it would see some."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterator

from couler.ir.kubernetes_pods import protect_dollars
from couler.ir.semantics.wire import dump_json, encode
from couler.ir.values import ValueType

Place: t.TypeAlias = tuple[str | int, ...]
"""Keys and indexes that lead to a text in a tree."""

_STRICT = frozenset({"metrics", "archiveLocation"})
"""Fields in which Argo fails on every tag that it does not know."""


class Tagged(str):
    """Tags or an expression that the backend means; what is the user's in it makes no tag."""

    __slots__ = ()


def variable(name: str) -> Tagged:
    """Return the tag for a variable."""
    return Tagged("{{" + name + "}}")


def wire_text(value: object, declared: ValueType = "str") -> str:
    """Return the text of a literal; JSON in which Argo would read a tag has escapes for braces."""
    text = encode(value, declared)
    is_json = declared == "json" or not isinstance(value, str)
    return text.replace("{{", "{\\u007b") if is_json and has_tag(text) else text


def foreign_tags(tree: t.Any) -> Iterator[tuple[Place, str]]:
    """Yield the texts of a tree in which Argo would read a tag that the backend does not mean."""
    if _is_suspect(tree):
        yield from _foreign_tags(tree, (), has_tag)


def _is_suspect(tree: t.Any) -> bool:
    """Whether two braces stand in a text of the user's. This goes through all of a manifest."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        values = node
        if isinstance(node, dict):
            if "{{" in "\0".join(node):
                return True
            values = node.values()
        for value in values:
            kind = value.__class__
            if kind is str:
                if "{{" in value:
                    return True
            elif kind is dict or kind is list:
                waiting.append(value)
            elif kind is not Tagged and isinstance(value, str | dict | list | tuple):
                waiting.append([str(value)] if isinstance(value, str) else value)
    return False


def _foreign_tags(
    tree: t.Any, place: Place, is_read: t.Callable[[str], bool]
) -> Iterator[tuple[Place, str]]:
    if isinstance(tree, Tagged):
        return
    if isinstance(tree, str):
        if is_read(tree):
            yield place, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if is_read(key):
                yield place, key
            reads = _has_braces if key in _STRICT else is_read
            yield from _foreign_tags(value, (*place, key), reads)
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):
            named = value.get("name") if isinstance(value, dict) else None
            step = named if isinstance(named, str) else index
            yield from _foreign_tags(value, (*place, step), is_read)


def _has_braces(text: str) -> bool:
    return "{{" in text


BRACE_VARIABLE = "COULER_BRACE"
"""Environment variable that holds one opening brace, for texts with tags in them."""

BRACES = "{$(" + BRACE_VARIABLE + ")"
"""Two opening braces that only the kubelet makes of it."""

_KNOWN = (
    "item|steps|tasks|inputs|outputs|pod|workflow|node|retries|lastRetry|status|duration|"
    "exitCode|resourcesDuration|cronworkflow|=|[A-Za-z]*sprig"
)
_TAG = re.compile(r"\{\{\s*(?:" + _KNOWN + r")")


def has_tag(text: str) -> bool:
    """Return whether Argo would read something in a text as a tag of its own."""
    if "{{" not in text:
        return False
    return _TAG.search(text) is not None or text.rfind("{{") > text.rfind("}}")


def protect(text: str) -> str:
    """Return a text for a container's command, arguments or environment."""
    if not has_tag(text):
        return protect_dollars(text)
    return protect_dollars(text).replace("{{", BRACES)


def uses_brace_variable(text: str) -> bool:
    """Return whether a protected text refers to `BRACE_VARIABLE`."""
    return BRACES in text


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote(text: str) -> str:
    r"""Return a string literal without two braces in a row, so that no tag begins or ends in it."""
    body = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return "'" + body.replace("{{", "{\\u007b").replace("}}", "}\\u007d") + "'"


_BRACES = "\ufdd0"
"""Stands for two opening braces in arguments that Argo would read once more."""


def encode_braces(text: str) -> str:
    """Return a text as it travels through arguments that Argo reads once more."""
    return text.replace("{{", _BRACES)


def encoding(expression: str) -> str:
    """Return an expression that encodes the braces of a text."""
    return rf"replace({expression}, '{{\u007b', '\ufdd0')"


def decoding(expression: str, braces: str = "{\\u007b") -> str:
    """Return an expression that decodes the braces of a text."""
    return rf"replace({expression}, '\ufdd0', '{braces}')"


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
