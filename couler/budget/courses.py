"""When the steps of a workflow come that ask for the cache, and how far a run is among them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence
from dataclasses import replace

from couler.caching.later_runs import Course
from couler.errors import RunNotFoundError, SerializationError
from couler.ir.graph import Graph
from couler.ir.semantics.foresight import is_foreseeable
from couler.ir.semantics.outputs import read_steps, shown_steps
from couler.ir.serialize import read_json
from couler.ir.walk import Scope, StepPath, references, scopes, without_places
from couler.ir.workflow import Group, Step, Workflow
from couler.state.database import Database
from couler.state.ownership import shown_status
from couler.state.runs import cache_decisions_of, latest_decider, list_runs, workflow_of


class Latest(t.NamedTuple):
    """The run that entries are worth something to, or after which the next one is."""

    run_id: str
    course: Course
    is_under_way: bool


def latest_course(database: Database) -> Latest | None:
    """Return from where later uses of the cache are foreseen, whoever asks between decisions."""
    return _under_way(database) or _over(database)


def _under_way(database: Database) -> Latest | None:
    for run in list_runs(database, status="running"):
        if run.target is not None or shown_status(run) != "running":
            continue
        workflow = read_json(workflow_of(database, run.id))
        met = [it.path for it in cache_decisions_of(database, run.id) if it.decision in _MET]
        here = str(without_places(StepPath.parse(met[-1]))) if met else ""
        return Latest(run.id, replace(course_of(workflow, run.workflow), here=here), True)
    return None


def _over(database: Database) -> Latest | None:
    run = latest_decider(database)
    if run is None:
        return None
    try:
        course = course_of(read_json(workflow_of(database, run.id)), run.workflow)
    except (RunNotFoundError, SerializationError):
        return None  # deleted just now, or recorded by another version: cleaning goes on without it
    return Latest(
        run.id,
        replace(course, here=max(course.ranks, key=course.ranks.__getitem__, default="")),
        False,
    )


_MET = ("hit", "miss", "stored", "rejected")
"""What is decided when a run comes to a step; it evicts what others have made, too."""


def course_of(workflow: Workflow, name: str) -> Course:
    """Return what is known of a workflow whose runs pass what nobody needs."""
    return Course(name, cached_places(workflow), readers=passed_places(workflow))


def passed_places(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    """Return the places that are passed where nobody needs them, each with those that read it."""
    found: dict[str, tuple[str, ...]] = {}
    for scope in scopes(workflow):
        if scope.owner is None and scope.steps is not workflow.steps:
            continue  # of an exit handler, or hooks
        shown = _shown(scope, workflow)
        foreseen = {step.name: scope.path_of(step) for step in scope.steps if is_foreseeable(step)}
        readers: dict[str, list[str]] = {name: [] for name in foreseen}
        for step in scope.steps:
            for name in dict.fromkeys(reference.step for reference in references(step)):
                readers.get(name, []).append(step.name)
        for name, its in readers.items():
            if its and name not in shown and foreseen.keys() >= set(its):
                found[foreseen[name]] = tuple(foreseen[one] for one in its)
    return found


def _shown(scope: Scope, workflow: Workflow) -> frozenset[str]:
    """Return the names of the steps of a scope that something outside of it reads."""
    if scope.owner is None:
        return shown_steps(workflow)
    return read_steps(output.value for output in scope.owner.outputs)


def cached_places(workflow: Workflow) -> dict[str, int]:
    """Return the number of each place of a workflow whose step asks for a cache, from 0."""
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
