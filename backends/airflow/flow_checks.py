"""What Airflow cannot do with items and rounds, beyond features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from couler.backends.airflow.jobs import belongs_to_run
from couler.backends.airflow.places import Spot, axis, is_dynamic, item_count
from couler.ir.diagnostics import Diagnostic
from couler.ir.values import MAX_ITEMS
from couler.ir.walk import HANDLER_PREFIX
from couler.ir.workflow import Group, Job, Step, Workflow

NESTED_CODE = "CLR340"
WIDTH_CODE = "CLR341"
SIZE_CODE = "CLR342"
JOB_CODE = "CLR343"
NAME_CODE = "CLR344"
ITEMS_CODE = "CLR379"

_KEPT = ("upstream_join_id", "downstream_join_id")
"""Names that Airflow gives to nodes of its own in each group."""

MANY_TASKS = 1_000


def check_flow(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield what the iterations of a workflow ask for in vain, and whether they are many tasks."""
    yield from _problems(workflow.steps, "", within_mapped=False, is_iterated=False)
    for handler in workflow.exit_handlers:
        path = f"{HANDLER_PREFIX}{handler.name}/"
        yield from _problems(handler.steps, path, within_mapped=False, is_iterated=False)
    steps = [*workflow.steps, *(one for it in workflow.exit_handlers for one in it.steps)]
    count = task_count(steps, within_mapped=False)
    if count > MANY_TASKS:
        message = (
            f"airflow: the DAG has {count:,} tasks. The start of each reads the whole file, and "
            "the scheduler looks at all of them again and again. Lower max_iterations, let lists "
            "be made by steps, so that their items are mapped, or let one step do more."
        )
        yield Diagnostic(SIZE_CODE, message, source=workflow.source, severity="warning")


def task_count(steps: Sequence[Step], *, within_mapped: bool) -> int:
    """Return about how many tasks steps become, of which a mapped one is counted once."""
    total = 0
    for step in steps:
        items = axis(step, within_mapped=within_mapped)
        inner = within_mapped or items == "mapped"
        each = 1
        if isinstance(step.action, Group):
            each = task_count(step.action.steps, within_mapped=inner)
        if items == "unrolled" and step.foreach is not None:
            each *= item_count(step.foreach)
        total += each * (1 if step.loop is None else step.loop.max_iterations)
    return total


def _problems(
    steps: Sequence[Step], path: str, *, within_mapped: bool, is_iterated: bool
) -> Iterator[Diagnostic]:
    for step in steps:
        items = axis(step, within_mapped=within_mapped)
        spot = Spot(step, step.name, items)
        for code, message in _problems_of(spot, path, within_mapped, is_iterated):
            yield Diagnostic(code, f"airflow: {message}", path + step.name, step.source)
        if isinstance(step.action, Group):
            yield from _problems(
                step.action.steps,
                f"{path}{step.name}/",
                within_mapped=within_mapped or items == "mapped",
                is_iterated=is_iterated or spot.is_iterated,
            )


def _problems_of(
    spot: Spot, path: str, within_mapped: bool, is_iterated: bool
) -> Iterator[tuple[str, str]]:
    step, name = spot.step, f'step "{path}{spot.step.name}"'
    foreach = step.foreach
    if path and step.name in _KEPT:
        yield NAME_CODE, f"{name} is in a group, where Airflow keeps its name. Choose another."
    if foreach is not None and is_dynamic(foreach) and within_mapped:
        message = (
            f"{name} has a list that is known only in the run, inside a foreach over another such "
            "list, but Airflow maps no task inside of a mapped group. State one as literals."
        )
        yield NESTED_CODE, message
    if foreach is not None and not is_dynamic(foreach) and item_count(foreach) > MAX_ITEMS:
        message = (
            f"{name} has {item_count(foreach):,} items, but with Airflow a foreach has at most "
            f"{MAX_ITEMS:,}, also where they are known. Let each be a larger part of the work."
        )
        yield ITEMS_CODE, message
    if foreach is not None and foreach.max_parallel is not None and not spot.is_plain:
        message = (
            f"{name} bounds how many items run at a time, but Airflow bounds the items of single "
            "mapped tasks alone, not of groups. Bound the workflow, or the steps inside."
        )
        yield WIDTH_CODE, message
    made = isinstance(step.action, Job) and belongs_to_run(step.action)
    if made and (is_iterated or spot.is_iterated):
        message = (
            f"{name} makes a resource that is deleted with the run, inside of items or rounds, of "
            "which the task that deletes it does not know. Let it belong to nothing."
        )
        yield JOB_CODE, message
