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
    value_of,
)

_TEMPLATE = "airflow.sdk.definitions.template"
_JINJA = ("{{", "{%", "{#", "\r")
"""Where one of these is in a text, Jinja would not give it back as it is."""
_EXPRESSIONS = (Code, Call, Chain, Listing, Table, Unpacked)


def untouched(text: str, module: Module) -> Expression:
    """Return a text that stands where Jinja reads, so that it comes out as it is."""
    if any(mark in text for mark in _JINJA) or text.endswith("\n"):
        return call(module.take(_TEMPLATE, "literal"), text)
    return value_of(text)


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
