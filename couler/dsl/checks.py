"""Arguments of a program, checked where they enter the language."""

from __future__ import annotations

import typing as t

from pydantic import ValidationError

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder


def first_problem(error: ValidationError) -> str:
    """Return what pydantic found first, in one line."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def checked_text(builder: Builder, what: str, value: object, step: str) -> str:
    """Return a text; report anything else."""
    if isinstance(value, str):
        return value
    builder.report("CLR105", f'step "{step}": {what}: {value!r:.60} is no text', step=str(step))
    return repr(value)


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
