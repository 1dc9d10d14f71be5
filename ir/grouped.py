"""Steps that run inside of another one, in its pod, and how it tells of them.

A pass can put several steps into one (`origin` says so), whose script runs them. What a step
inside writes stands in the log of that one as `NAME | line`, and what is told about it as
`NAME ! text`. The last line is `couler-group: ` and JSON.
"""

from __future__ import annotations

import ast
import json
import typing as t
from collections.abc import Iterable, Iterator
from datetime import datetime

from couler.ir.paths import StepPath, without_places
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Script, Step, Workflow

__all__ = [
    "DEFINITION",
    "GROUPED",
    "REPORT",
    "InnerEnd",
    "inner_name",
    "inner_names",
    "lines_of",
    "read_report",
]

GROUPED = "group"
"""The origin of a step that runs others inside."""

REPORT = "couler-group: "
"""Begins the line that tells how they ended."""

DEFINITION = "GROUP"
"""What the definition of the steps inside is called in the script."""


class InnerEnd(t.NamedTuple):
    """How a step inside of another one ended."""

    name: str
    state: t.Literal["succeeded", "failed", "omitted"]
    attempts: int = 0
    exit_code: int | None = None
    message: str | None = None
    started: datetime | None = None
    finished: datetime | None = None


def read_report(lines: Iterable[str]) -> tuple[InnerEnd, ...]:
    """Return how the steps inside ended, by the last line of a log that tells of it.

    Examples
    --------
    >>> log = 'a | hi', 'couler-group: {"version": 1, "steps": [{"name": "a", "state": "failed"}]}'
    >>> [end] = read_report(log)
    >>> end.name, end.state
    ('a', 'failed')
    """
    last = next((line for line in reversed(list(lines)) if line.startswith(REPORT)), None)
    if last is None:
        return ()
    try:
        steps = json.loads(last.removeprefix(REPORT))["steps"]
        return tuple(_end(step) for step in steps)
    except (ValueError, KeyError, TypeError):  # cut off, or of another version
        return ()


def lines_of(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield what one step inside wrote and what is told about it, without its name.

    Examples
    --------
    >>> list(lines_of("a", ["a | hi", "b | ho", "a ! it ended with exit code 1"]))
    ['hi', 'it ended with exit code 1']
    """
    for line in lines:
        for start in (f"{name} | ", f"{name} ! "):
            if line.startswith(start):
                yield line.removeprefix(start)


def inner_name(workflow: Workflow, place: str, asked: str) -> str | None:
    """Return the name of the step inside that is meant, None if all that runs at a place is.

    Parameters
    ----------
    workflow
        What runs.
    place
        Path of a step of it.
    asked
        The path or name by which the user asked for that.
    """
    try:
        path, wanted = StepPath.parse(place), StepPath.parse(asked)
    except ValueError:
        return None
    step = dict(steps_by_path(workflow)).get(str(without_places(path)))
    # A step that another one stands for, which runs inside, has no lines of its own name.
    is_inside = step is not None and wanted[-1].name in inner_names(step)
    return wanted[-1].name if is_inside else None


def inner_names(step: Step) -> tuple[str, ...]:
    """Return the names of the steps that a step runs inside, as its script defines them."""
    if step.origin != GROUPED or not isinstance(step.action, Script):
        return ()
    for node in ast.parse(step.action.source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == DEFINITION:
            return tuple(inner["name"] for inner in ast.literal_eval(node.value)["steps"])
    return ()


def _end(step: dict[str, t.Any]) -> InnerEnd:
    times = {
        name: datetime.fromisoformat(step[name])
        for name in ("started", "finished")
        if step.get(name) is not None
    }
    rest = {name: step[name] for name in InnerEnd._fields if name in step and name not in times}
    return InnerEnd(**{**rest, **times})
