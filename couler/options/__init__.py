"""Plugins with options that are chosen by a text, as `split{group_steps=200}`."""

from __future__ import annotations

import dataclasses
import typing as t


def default_of(field: dataclasses.Field[t.Any]) -> t.Any:
    """Return the default value of an option."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
