"""When the steps of a workflow come that ask for the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from couler.ir.graph import Graph
from couler.ir.workflow import Group, Step, Workflow


def cached_places(workflow: Workflow) -> dict[str, int]:
    """Return the number of each place of a workflow whose step asks for a cache, from 0.

    Parameters
    ----------
    workflow
        Verified, and without defaults.

    Returns
    -------
    dict
        By place: the names of the steps from the outside in, whatever their items and rounds. The
        order is that of levels, as if all steps took equally long and nobody waited for room.
    """
    cached = [place for place, step in _in_order(workflow.steps, "") if step.cache is not None]
    return {place: number for number, place in enumerate(cached)}


def _in_order(steps: Sequence[Step], outer: str) -> Iterator[tuple[str, Step]]:
    """Yield what runs with its place; steps of one level as the program has them."""
    by_name = {step.name: step for step in steps}
    for level in Graph.of(steps).levels:
        for name in level:
            action = by_name[name].action
            if isinstance(action, Group):
                yield from _in_order(action.steps, f"{outer}{name}/")
            else:
                yield f"{outer}{name}", by_name[name]
