"""Steps that run inside of another one, in its pod, and how it tells of them."""

from __future__ import annotations

import ast
import json
import typing as t
from collections.abc import Iterable, Iterator
from datetime import datetime

from couler.ir.walk import StepPath, steps_by_path, without_places
from couler.ir.workflow import Script, Step, Workflow

GROUPED = "group"
"""The origin of a step that runs others inside."""

REPORT = "couler-group: "
"""Begins the line that tells how they ended."""

REPORT_VERSION = 1
"""That of its JSON. Another one may mean something else by the same words."""

STOPPED = "the group was asked to end"
"""The message of steps that ran or waited when the process of the group was asked to end."""

DEFINITION = "GROUP"
"""What the definition of the steps inside is called in the script."""


_State: t.TypeAlias = t.Literal["succeeded", "failed", "skipped", "omitted"]

_STATES = t.get_args(_State)


class InnerEnd(t.NamedTuple):
    """How a step inside of another one ended."""

    name: str
    state: _State
    attempts: int = 0
    exit_code: int | None = None
    message: str | None = None
    started: datetime | None = None
    finished: datetime | None = None


class Report(t.NamedTuple):
    """What a log tells of the steps inside.

    Attributes
    ----------
    ends
        How they ended; none if that is not known.
    problem
        Why it is not known although a line tells of it; None if it is known, or no line does.
    """

    ends: tuple[InnerEnd, ...] = ()
    problem: str | None = None


def read_report(lines: Iterable[str]) -> Report:
    """Return how the steps inside ended, by the last line of a log that tells of it."""
    last = next((line for line in reversed(list(lines)) if line.startswith(REPORT)), None)
    if last is None:
        return Report()
    try:
        told = json.loads(last.removeprefix(REPORT))
    except (ValueError, RecursionError):
        return Report(problem="its report is cut off, or no JSON")
    version = told.get("version") if isinstance(told, dict) else None
    if version != REPORT_VERSION or isinstance(version, bool):
        said = "no version" if version is None else f"version {str(version)[:20]}"
        known = f"of which version {REPORT_VERSION} is known here"
        return Report(problem=f"its report is of {said}, {known}")
    try:
        return Report(tuple(_end(step) for step in told["steps"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Report(problem="its report is not what its version says")


def lines_of(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield what one step inside wrote and what is told about it, without its name."""
    for line in lines:
        for start in (f"{name} | ", f"{name} ! "):
            if line.startswith(start):
                yield line.removeprefix(start)


def inner_name(workflow: Workflow, place: str, asked: str) -> str | None:
    """Return the name of the step inside that is meant, None if all that runs at a place is."""
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
    return tuple(name for name, _ in _defined(step))


def unbegun(step: Step, state: str, message: str | None = None) -> tuple[InnerEnd, ...]:
    """Return how the steps inside ended where the one that runs them has not begun."""
    if state in ("skipped", "omitted"):
        common: _State = "skipped" if state == "skipped" else "omitted"
        return tuple(InnerEnd(name, common, message=message) for name in inner_names(step))
    if state != "failed":
        return ()
    return tuple(
        InnerEnd(name, "omitted") if after else InnerEnd(name, "failed", message=message)
        for name, after in _defined(step)
    )


def _defined(step: Step) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names of the steps inside, each with those inside that it waits for."""
    if step.origin != GROUPED or not isinstance(step.action, Script):
        return ()
    for node in ast.parse(step.action.source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == DEFINITION:
            steps = ast.literal_eval(node.value)["steps"]
            return tuple((inner["name"], tuple(inner["after"])) for inner in steps)
    return ()


def _end(step: dict[str, t.Any]) -> InnerEnd:
    is_end = isinstance(step["name"], str) and isinstance(step.get("attempts", 0), int)
    if not is_end or step["state"] not in _STATES:
        raise ValueError(f"{step!r} is no end of a step")
    times = {
        name: datetime.fromisoformat(step[name])
        for name in ("started", "finished")
        if step.get(name) is not None
    }
    rest = {name: step[name] for name in InnerEnd._fields if name in step and name not in times}
    return InnerEnd(**{**rest, **times})
