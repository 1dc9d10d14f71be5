"""Arguments of a program, checked where they enter the language."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from couler.dsl.handles import Value
from couler.ir.base import Node

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder

T = t.TypeVar("T")


class OptionError(ValueError):
    """An option's value is wrong; the message says what to write."""


def first_problem(error: ValidationError) -> str:
    """Return what pydantic found first, in one line."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    text = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {text}" if place else text


def attempt(
    builder: Builder, what: str, make: Callable[[], T], step: str | None = None
) -> T | None:
    """Return what a function makes; report a value that it refuses, and return None."""
    try:
        return make()
    except ValidationError as error:
        text = first_problem(error)
    except (ValueError, TypeError, AttributeError) as error:
        text = str(error)
    where = "" if step is None else f'step "{step}": '
    builder.report("CLR105", f"{where}{what}: {text}", step=step)
    return None


def fitting(builder: Builder, node: Node, fields: Mapping[str, object]) -> dict[str, t.Any]:
    """Return the fields that a node of the IR can be given; report the others.

    Parameters
    ----------
    builder
        Takes the reports.
    node
        One with these fields, right or not yet given.
    fields
        Values by the names of fields; None for one that is not given.
    """
    kept: dict[str, t.Any] = {}
    for name, value in fields.items():
        if value is None:
            continue
        given = dict(value) if isinstance(value, Mapping) else value
        try:
            checked = type(node).model_validate({**dict(node), name: given})
        except ValidationError as error:
            builder.report("CLR105", first_problem(error))
        else:
            kept[name] = getattr(checked, name)
    return kept


def checked_text(builder: Builder, what: str, value: object, step: str) -> str:
    """Return a text; report anything else."""
    if isinstance(value, str):
        return value
    builder.report("CLR105", f'step "{step}": {what}: {value!r:.60} is no text', step=str(step))
    return "unknown"


def checked_texts(builder: Builder, what: str, value: object, step: str) -> tuple[str, ...]:
    """Return texts, of which one may stand alone; report anything else."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    builder.report(
        "CLR105",
        f'step "{step}": {what}: {value!r:.60} is neither a text nor a list of them',
        step=step,
    )
    return ()


def checked_count(builder: Builder, what: str, value: object) -> int | None:
    """Return a number of at least 1, or None; report anything else."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    builder.report("CLR105", f"{what}: {value!r:.60} is no whole number above 0")
    return None


def name_step(builder: Builder, default: str, *given: object) -> str:
    """Return the first name that is given; report one that is a value of the workflow."""
    for name in given:
        if isinstance(name, Value):
            builder.report(
                "CLR105",
                f'step "{default}": {name!r} is known only when the workflow runs, but the name of '
                "a step must be a text that is known when the workflow is built",
                step=default,
            )
        elif name:
            return str(name)
    return default
