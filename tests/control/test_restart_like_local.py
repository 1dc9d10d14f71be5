"""A plan for an engine elsewhere is the plan of this machine, for every workflow that there is."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.control.restarting import Past, RestartPlan, plan_restart
from couler.ir.defaults import resolve_defaults
from couler.ir.semantics.places import around
from couler.ir.walk import HANDLER_PREFIX, StepPath
from couler.ir.workflow import Container, Group, Step, Workflow
from tests.corpus import Case, cases
from tests.support.mill_of_flows import Mill
from tests.support.restart_plans import (
    LOCAL,
    follows,
    must_be_closed,
    options_of,
    past_of,
    plan_locally,
)

pytestmark = pytest.mark.slow

ALL = list(cases())
WELL = [case for case in ALL if case.expected.status == "succeeded" and not case.expected.failed]
BROKEN = "exit 97"


def leaves(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps that run a process."""
    for step in steps:
        if isinstance(step.action, Group):
            yield from leaves(step.action.steps)
        elif isinstance(step.action, Container):
            yield step


def changed(workflow: Workflow, target: Step, **fields: object) -> Workflow:
    """Return a workflow in which another step stands in the place of one."""

    def of(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(map(one, steps))

    def one(step: Step) -> Step:
        if step is target:
            return step.model_copy(update=fields)
        if not isinstance(step.action, Group):
            return step
        inside = step.action.model_copy(update={"steps": of(step.action.steps)})
        return step.model_copy(update={"action": inside})

    handlers = tuple(
        handler.model_copy(update={"steps": of(handler.steps)})
        for handler in workflow.exit_handlers
    )
    return workflow.model_copy(update={"steps": of(workflow.steps), "exit_handlers": handlers})


def with_words(workflow: Workflow, target: Step, words: str) -> Workflow:
    """Return a workflow in which a step of a shell begins with other words."""
    action = target.action
    assert isinstance(action, Container)
    script, *others = action.args
    args = (f"{words}; {script}", *others)
    return changed(workflow, target, action=action.model_copy(update={"args": args}))


def is_shell(step: Step) -> bool:
    """Return whether a step can be broken: one of a shell that is not patient for minutes."""
    action = step.action
    is_patient = step.retry is not None and step.retry.backoff is not None
    is_one = isinstance(action, Container) and action.command[:2] == ("sh", "-c")
    return is_one and not is_patient


def compare(home: Path, workflow: Workflow | None = None, **arguments: object) -> RestartPlan:
    """Plan here and as if elsewhere, and fail unless the two agree."""
    past = past_of(home)
    now = None if workflow is None else resolve_defaults(workflow)
    plan = plan_restart(past, now)
    local = plan_locally(home, workflow, **arguments)  # type: ignore[arg-type]  # environ
    here = {step.path: (step.verdict, step.reason) for step in local}
    there = {step.path: (step.verdict, step.reason) for step in plan.steps}
    if verdicts(here) != verdicts(there):
        is_declared(past, here, there)
    must_be_closed(past, now or past.workflow, plan)
    return plan


def from_every_step(home: Path) -> int:
    """Plan from each step that keeps its end, and fail unless what follows runs and no more.

    Returns how many steps there were.
    """
    past = past_of(home)
    base = plan_restart(past)
    kept = [step.path for step in base.steps if step.verdict == "reused"]
    for first in kept:
        plan = plan_restart(past, from_step=first)
        opened = {StepPath.parse(path) for path in plan.again}
        for path in map(StepPath.parse, kept):
            is_open = path in opened or any(outer in opened for outer in around(path))
            is_later = follows(past.workflow, path, StepPath.parse(first))
            assert is_open == (is_later or str(path) == first), f"{path}, from {first} on"
        must_be_closed(past, past.workflow, plan)
    return len(kept)


def verdicts(told: dict[str, tuple[str, str | None]]) -> dict[str, str]:
    return {path: verdict for path, (verdict, _) in told.items()}


def is_declared(
    past: Past,
    here: dict[str, tuple[str, str | None]],
    there: dict[str, tuple[str, str | None]],
) -> None:
    """Fail unless each difference is one of those that are meant."""
    assert here.keys() == there.keys(), (here, there)
    for path, (verdict, reason) in there.items():
        if here[path][0] == verdict:
            continue
        told = f"{path}: here {here[path]}, elsewhere {(verdict, reason)}"
        is_opened = "and nothing in it did" in (reason or "")
        is_handler = path.startswith(HANDLER_PREFIX)
        assert (verdict, here[path][0]) == ("runs", "reused"), told
        assert is_opened or is_handler, told


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def prepared(case: Case, home: Path, tmp_path: Path) -> tuple[dict[str, str], dict[str, object]]:
    """Put in place what a case needs, and return the environment and the parameters of its run."""
    shared = tmp_path / "shared"
    shared.mkdir()
    entries = {
        f"COULER_{kind}_{name}_{key}": value
        for kind, maps in (("SECRET", case.secrets), ("CONFIG", case.config_maps))
        for name, given in maps.items()
        for key, value in given.items()
    }
    environ = {**os.environ, **entries}
    for key, content in case.artifacts.items():
        file = home / "repository" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return environ, dict(case.parameters_with(shared))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_workflows_of_the_corpus(case: Case, home: Path, tmp_path: Path) -> None:
    environ, parameters = prepared(case, home, tmp_path)
    found = list(filter(is_shell, leaves(case.workflow.steps)))
    first = case.workflow
    if found and case.expected.status == "succeeded":
        first = with_words(first, random.Random(case.name).choice(found), BROKEN)
    LOCAL.run(first, parameters=parameters, options=options_of(home), environ=environ)
    compare(home, environ=environ)
    compare(home, case.workflow, environ=environ)
    from_every_step(home)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", WELL, ids=str)
def test_nothing_runs_of_what_went_well(case: Case, home: Path, tmp_path: Path) -> None:
    environ, parameters = prepared(case, home, tmp_path)
    LOCAL.run(case.workflow, parameters=parameters, options=options_of(home), environ=environ)
    assert plan_restart(past_of(home)).again == set()
    assert from_every_step(home)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_workflows_of_a_mill(seed: int, home: Path) -> None:
    dice, workflow = random.Random(seed), Mill(seed).workflow()
    LOCAL.run(workflow, options=options_of(home))
    compare(home)
    from_every_step(home)
    found = list(filter(is_shell, leaves(workflow.steps)))
    other = with_words(workflow, dice.choice(found), "true")
    compare(home, other)
    LOCAL.retry("latest", workflow=other, options=options_of(home))
    compare(home)
    compare(home, workflow)
