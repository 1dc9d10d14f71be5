"""Groups inside of groups for which Python would refuse the DAG file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from couler.backends.airflow.places import Spot, axis
from couler.ir.diagnostics import Diagnostic
from couler.ir.paths import HANDLER_PREFIX
from couler.ir.storage import NewClaimVolume
from couler.ir.workflow import Group, Step, Workflow

NESTING_CODE = "CLR381"
MOST_BLOCKS = 20
"""The statements `with` and `for` that Python takes around each other in a module or a function
(`CO_MAXBLOCKS` of CPython; some versions take more)."""


def check_nesting(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the outermost steps whose blocks in the file stand in too many others."""
    runs = workflow.runs
    has_budget = runs is not None and runs.disruption_budget is not None
    has_claims = any(isinstance(one, NewClaimVolume) for one in workflow.volumes)
    around = 1 + has_claims + has_budget  # the DAG, and what is deleted after all of it
    yield from _check(workflow.steps, "", around, within_mapped=False)
    for handler in workflow.exit_handlers:
        path = f"{HANDLER_PREFIX}{handler.name}/"
        yield from _check(handler.steps, path, around + 1, within_mapped=False)


def _check(
    steps: Sequence[Step], path: str, around: int, *, within_mapped: bool
) -> Iterator[Diagnostic]:
    for step in steps:
        if not isinstance(step.action, Group) and step.loop is None and step.foreach is None:
            continue
        spot = Spot(step, step.name, axis(step, within_mapped=within_mapped))
        is_empty = spot.items == "unrolled" and spot.has_maker
        shown = 0 if path or step.part is None else _parts_around(step)
        most, inside = _blocks(spot, around + shown)
        if most > MOST_BLOCKS:
            message = (
                f'airflow: step "{path}{step.name}" stands in so many groups, rounds and items '
                f"that the DAG file would have {most} blocks around each other; Python takes "
                f"{MOST_BLOCKS}. Put the steps of some of the groups into the groups around them."
            )
            yield Diagnostic(NESTING_CODE, message, path + step.name, step.source)
        elif isinstance(step.action, Group) and not is_empty:  # else nothing is written of it
            yield from _check(
                step.action.steps,
                f"{path}{step.name}/",
                inside,
                within_mapped=within_mapped or spot.items == "mapped",
            )


def _parts_around(step: Step) -> int:
    assert step.part is not None
    return sum(name is not None for name in (step.part.run, step.part.group))


def _blocks(spot: Spot, around: int) -> tuple[int, int]:
    """Return how many blocks stand around each other at most, and around what is inside a step."""
    step = spot.step
    is_group = isinstance(step.action, Group)
    if not spot.is_iterated:
        now = around + is_group
        return now, now
    now = most = around + 1
    if spot.items == "mapped":
        now = 0  # a function begins
    elif spot.items == "unrolled":
        if spot.has_maker:
            return now, now
        now += 2 if is_group or step.loop is not None else 1
    if step.loop is not None:
        now += 2 if is_group else 1
    return max(most, now), now
