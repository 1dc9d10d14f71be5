"""Ids of tasks that are too long: groups, steps, and what the compiler adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from couler.backends.airflow.places import (
    Spot,
    axis,
    exit_groups,
    item_count,
    makes_lists,
    task_name,
)
from couler.ir.diagnostics import Diagnostic
from couler.ir.paths import HANDLER_PREFIX
from couler.ir.workflow import Group, Step, Workflow

LENGTH_CODE = "CLR349"
_LONGEST = 250
"""Characters of the id of a task, with those of the groups around it."""


def check_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the steps whose tasks would have ids that are too long."""
    yield from _check(workflow.steps, "", "")
    groups = exit_groups(workflow)
    for handler in workflow.exit_handlers:
        path = f"{HANDLER_PREFIX}{handler.name}/"
        yield from _check(handler.steps, f"{groups[handler.name]}.", path)


def _check(
    steps: Sequence[Step], prefix: str, path: str, *, within_mapped: bool = False
) -> Iterator[Diagnostic]:
    beside = frozenset(step.name for step in steps)
    for step in steps:
        items = axis(step, within_mapped=within_mapped)
        spot = Spot(step, prefix + task_name(step.name), items, beside)
        longest = max(_ids(spot), key=len)
        if len(longest) > _LONGEST:
            message = (
                f'airflow: step "{path}{step.name}" becomes the task "{longest[:20]}...'
                f'{longest[-20:]}", whose id has {len(longest)} characters with the groups around '
                f"it; Airflow takes {_LONGEST}. Shorten its name, or those of the groups."
            )
            yield Diagnostic(LENGTH_CODE, message, path + step.name, step.source)
        elif isinstance(step.action, Group):  # else all that is inside would be told as well
            inside = _numbered(spot.round, step) + "."
            yield from _check(
                step.action.steps,
                inside,
                f"{path}{step.name}/",
                within_mapped=within_mapped or items == "mapped",
            )


def _ids(spot: Spot) -> Iterator[str]:
    """Yield the ids of a step and of the tasks that the compiler makes for it."""
    step = spot.step
    yield spot.base
    if any(not isinstance(entry, str) for entry in step.depends_on):
        yield spot.own("needs")
    if spot.has_maker:
        yield spot.maker
    if makes_lists(step):
        yield spot.own("lists")
    if spot.is_iterated:
        yield from (_numbered(one, step) for one in (spot.round, spot.end_of_item))
    if step.loop is not None:
        yield _numbered(f"{spot.item}.{spot.bound}", step)
    if isinstance(step.action, Group):
        yield _numbered(spot.gate, step)
    if spot.has_end:
        yield _numbered(spot.end_of_round, step)


def _numbered(place: str, step: Step) -> str:
    """Return the longest place of its items and rounds."""
    rounds = 0 if step.loop is None else step.loop.max_iterations - 1
    items = 0 if step.foreach is None else max(item_count(step.foreach) - 1, 0)
    return place.replace("round_#", f"round_{rounds}").replace("item_#", f"item_{items}")
