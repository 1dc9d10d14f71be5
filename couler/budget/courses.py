"""When the steps of a workflow come that ask for the cache, and how far a run is among them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence

from couler.caching.later_runs import Course
from couler.ir.graph import Graph
from couler.ir.paths import StepPath, without_places
from couler.ir.serialize import read_json
from couler.ir.workflow import Group, Step, Workflow
from couler.state.database import Database
from couler.state.ownership import shown_status
from couler.state.runs import cache_decisions_of, list_runs, workflow_of


class UnderWay(t.NamedTuple):
    """A run that uses the cache now."""

    run_id: str
    course: Course


def latest_under_way(database: Database) -> UnderWay | None:
    """Return how far the run of this machine is that began last of those under way.

    None if there is none. It has come to the step whose outputs it looked for, or offered, last.
    """
    for run in list_runs(database, status="running"):
        if run.target is not None or shown_status(run) != "running":
            continue
        ranks = cached_places(read_json(workflow_of(database, run.id)))
        met = [it.path for it in cache_decisions_of(database, run.id) if it.decision in _MET]
        here = str(without_places(StepPath.parse(met[-1]))) if met else ""
        return UnderWay(run.id, Course(run.workflow, ranks, here))
    return None


_MET = ("hit", "miss", "stored", "rejected")
"""What is decided when a run comes to a step; it evicts what others have made, too."""


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
