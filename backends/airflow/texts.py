"""Texts of users past Jinja, which Airflow lets read what it hands to pods."""

from __future__ import annotations

from couler.backends.airflow.module import Module
from couler.backends.airflow.python import (
    Call,
    Chain,
    Code,
    Expression,
    Listing,
    Table,
    Unpacked,
    call,
    text_block,
    value_of,
)

_TEMPLATE = "airflow.sdk.definitions.template"
_JINJA = ("{{", "{%", "{#", "\r")
"""Where one of these is in a text, Jinja would not give it back as it is."""
_SHORT = 60
"""The longest text of two lines that is written inline, in characters."""
_EXPRESSIONS = (Code, Call, Chain, Listing, Table, Unpacked)


def untouched(text: str, module: Module) -> Expression:
    """Return a text that stands where Jinja reads, so that it comes out as it is."""
    if any(mark in text for mark in _JINJA) or text.endswith("\n"):
        return call(module.take(_TEMPLATE, "literal"), text)
    return value_of(text)


def untouched_lines(
    text: str, wanted: str, module: Module, *, may_lose_end: bool = False
) -> Expression:
    """Return such a text, inline or, of several lines, as a constant; scripts may end sooner."""
    given = untouched(text.rstrip("\n") if may_lose_end else text, module)
    breaks = text.strip("\n").count("\n")
    if breaks < 1 or (breaks == 1 and len(text) <= _SHORT) or text_block(text) is None:
        return given
    name = Code(module.constant(wanted, text))
    return call(module.take(_TEMPLATE, "literal"), name) if isinstance(given, Call) else name


def untouched_all(tree: object, module: Module) -> Expression:
    """Return JSON that stands where Jinja reads; expressions in it stay as they are."""
    if isinstance(tree, _EXPRESSIONS):
        return tree
    if isinstance(tree, str):
        return untouched(tree, module)
    if isinstance(tree, dict):
        return Table(
            tuple((value_of(key), untouched_all(one, module)) for key, one in tree.items())
        )
    if isinstance(tree, list | tuple):
        return Listing(tuple(untouched_all(one, module) for one in tree))
    return value_of(tree)
