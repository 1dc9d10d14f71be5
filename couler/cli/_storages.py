"""Storages of the settings, and the option that states more of them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import click

from couler.cli._session import Session
from couler.ir.artifacts import STORED
from couler.ir.storages import Storages
from couler.plugins import find_plugins

storage_option = click.option(
    "--storage",
    "storages",
    multiple=True,
    metavar="KIND.FIELD=VALUE",
    help="What programs need not say of where files are, such as s3.bucket=data; can be given "
    "several times.",
)


def storages_of(
    session: Session,
    engine: str | None,
    given: tuple[str, ...],
    target: Storages | None = None,
) -> Storages:
    """Return the storages that hold for an engine."""
    found: dict[str, dict[str, t.Any]] = {}
    table = session.settings.storages
    engines = find_plugins("couler.backends") if table.keys() - set(STORED) else ()
    for kind in table:
        if kind not in engines:  # a kind that does not exist is refused with the others
            found[kind] = dict(table[kind])
    own: Mapping[str, t.Any] = {} if engine is None else table.get(engine, {})
    for stated in (own, target or {}):
        for kind, fields in stated.items():
            found[kind] = {**found.get(kind, {}), **fields}
    for option in given:
        name, separator, value = option.partition("=")
        kind, dot, field = name.partition(".")
        if not (separator and dot and kind and field):
            raise click.BadParameter(f"{option!r} is not KIND.FIELD=VALUE", param_hint="--storage")
        found.setdefault(kind, {})[field] = value
    return found
