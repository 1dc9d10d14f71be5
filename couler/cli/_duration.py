"""Durations on the command line."""

from __future__ import annotations

import typing as t
from datetime import timedelta

import click


class DurationType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A duration such as 30d or 1h30m; 0, 0s and the like are none."""

    name = "duration"

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the duration that a text names."""
        from couler.dsl.units import parse_duration

        if isinstance(value, timedelta):
            return value
        try:
            return timedelta(seconds=parse_duration(value, may_be_zero=True))
        except (ValueError, OverflowError) as error:
            self.fail(str(error), param, ctx)
