"""Runs of this machine, planned as if an engine elsewhere had run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.control.restarting import Past, RestartPlan
from couler.ir.graph import Graph
from couler.ir.semantics.places import around
from couler.ir.semantics.replay import PlannedStep
from couler.ir.serialize import read_json
from couler.ir.walk import HANDLER_PREFIX, StepPath
from couler.ir.workflow import Group, Step, Workflow
from couler.state.database import open_database
from couler.state.home import Home
from couler.state.runs import find_run, steps_of, workflow_of

LOCAL = LocalBackend()


def options_of(home: Path) -> RunOptions:
    """Return options for runs that do nothing but what they say."""
    return RunOptions(home=home, jobs=4, gpus=1, use_cache=False)


def past_of(home: Path, run: str = "latest") -> Past:
    """Return a run of this machine as an engine elsewhere tells of one: without keys and logs."""
    with open_database(Home(home).database_url) as database:
        record = find_run(database, run)
        steps = steps_of(database, record.id)
        return Past(
            record.id,
            read_json(workflow_of(database, record.id)),
            {name: given["text"] for name, given in record.parameters.items()},
            tuple(replace(step, key=None, log=None) for step in steps),
            record.logical_date or "",
        )


def plan_locally(
    home: Path,
    workflow: Workflow | None = None,
    environ: Mapping[str, str] | None = None,
    **parameters: object,
) -> tuple[PlannedStep, ...]:
    """Return what the local engine would do with its latest run."""
    return LOCAL.plan_retry(
        "latest",
        workflow=workflow,
        options=options_of(home),
        environ=environ,
        parameters=parameters,
    )


def must_be_closed(past: Past, workflow: Workflow, plan: RestartPlan) -> None:
    """Fail if something keeps its end that waits for something that does not, or is inside of it.

    This looks at names only, where the plan has looked at the whole.
    """
    again = {StepPath.parse(path) for path in plan.again}
    kept = [StepPath.parse(step.path) for step in plan.steps if step.verdict == "reused"]
    for path in kept:
        assert path not in again, f"{path} is reused and runs again"
        for outer in around(path):
            assert outer not in again, f"{path} is reused inside of {outer}, which runs again"
    later = _later(workflow)
    for opened in again:
        for path in kept:
            for outer, names in later.items():
                if (
                    len(opened) > len(outer)
                    and len(path) > len(outer)
                    and _are_in(outer, opened, path)
                ):
                    here, there = opened[len(outer)].name, path[len(outer)].name
                    assert (here, there) not in names, f"{path} is kept, and waits for {opened}"


def _are_in(outer: tuple[str, ...], first: StepPath, second: StepPath) -> bool:
    """Return whether two paths are in one instance of a scope."""
    depth = len(outer)
    return first[:depth] == second[:depth] and tuple(it.name for it in first[:depth]) == outer


def _later(workflow: Workflow) -> dict[tuple[str, ...], set[tuple[str, str]]]:
    """Return, for each scope, which of its steps wait for which, directly or through others."""
    found: dict[tuple[str, ...], set[tuple[str, str]]] = {}

    def look(steps: tuple[Step, ...], path: tuple[str, ...]) -> None:
        graph = Graph.of(steps)
        found[path] = {(one, two) for two in graph.predecessors for one in graph.ancestors(two)}
        for step in steps:
            if isinstance(step.action, Group):
                look(step.action.steps, (*path, step.name))

    look(workflow.steps, ())
    for handler in workflow.exit_handlers:
        look(handler.steps, (HANDLER_PREFIX + handler.name,))
    return found


def follows(workflow: Workflow, path: StepPath, first: StepPath) -> bool:
    """Tell whether an instance comes after another: by an edge around both, or a later round.

    All exit handlers come after the steps, and run again with each other.
    """
    is_after, is_first_after = (one[0].name.startswith(HANDLER_PREFIX) for one in (path, first))
    if is_after:
        return True
    if is_first_after:
        return False
    later = _later(workflow)
    for depth, (part, before) in enumerate(zip(path, first, strict=False)):
        if part == before:
            continue
        if part.name != before.name:
            names = tuple(it.name for it in path[:depth])
            return (before.name, part.name) in later[names]
        return part.item == before.item and (part.round or 0) > (before.round or 0)
    return False
