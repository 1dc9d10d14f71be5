"""Names that become ids of tasks which are too long for Airflow."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

from couler.backends.airflow import AirflowBackend, check
from couler.backends.base import Target
from couler.errors import CoulerError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Dependency, Foreach
from couler.ir.values import Literal, StepRef
from couler.ir.workflow import Container, Group, Output, Step, Workflow
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.backends.airflow.files import places_of
from tests.corpus import cases
from tests.support.airflow_target import with_files
from tests.support.sample_flows import echo, flow
from tests.support.strategies import workflows

OF_THE_RUN = re.compile(r"(run-\w+|exit-\w+(\.when)?|may-start|(make|delete|remove)-\w+)_*|sample|")
"""Tasks beside all steps, whose names are short whatever those of the steps are."""

BACKEND = AirflowBackend()


def found_in(step: Step) -> list[tuple[str, str | None]]:
    return [(one.code, one.step) for one in BACKEND.check(flow(step), Target())]


@pytest.mark.parametrize(("length", "is_refused"), [(125, False), (126, True)])
def test_ids_with_their_groups(length: int, *, is_refused: bool) -> None:
    outer, inner = "g" * 124, "s" * length
    step = Step(name=outer, action=Group(steps=(echo(inner),)))
    assert found_in(step) == ([("CLR349", f"{outer}/{inner}")] if is_refused else [])


@pytest.mark.parametrize(("length", "is_refused"), [(122, False), (123, True)])
def test_tasks_of_the_compiler_are_counted(length: int, *, is_refused: bool) -> None:
    """A task is `GROUP.item.STEP`."""
    outer = "g" * 122
    inner = "s" * length
    each = Foreach(over={"item": Literal(value=(1, 2))})
    step = Step(name=outer, action=Group(steps=(echo(inner),)), foreach=each)
    assert found_in(step) == ([("CLR349", f"{outer}/{inner}")] if is_refused else [])


@pytest.mark.parametrize("is_taken", [False, True])
@pytest.mark.parametrize("kind", ["needs", "items", "lists"])
def test_tasks_beside_a_step_are_counted(kind: str, *, is_taken: bool) -> None:
    """Such a task has a `_` behind its name where a step has it."""
    for spare, codes in ((0, []), (1, ["CLR349"])):
        name = "s" * (250 - len(f"-{kind}_" if is_taken else f"-{kind}") + spare)
        over = StepRef(step="list") if kind == "items" else Literal(value=(1, 2))
        each = None if kind == "needs" else Foreach(over={"item": over})
        step = Step(
            name=name,
            action=Container(image="busybox", command=("echo",)),
            foreach=each,
            depends_on=(Dependency(step="list", on="completion"),) if kind == "needs" else (),
            outputs=(Output(),) if kind == "lists" else (),
        )
        output = Output(type="list")
        list_ = Step(name="list", action=echo("x").action, outputs=(output,))
        taken = (echo(f"{name}-{kind}"),) if is_taken else ()
        workflow = flow(list_, step, *taken)
        assert [one.code for one in BACKEND.check(workflow, Target())] == codes
        if not codes:
            text = BACKEND.compile(resolve_defaults(workflow), Target()).to_text()
            assert max(map(len, places_of(text))) == 250


def assert_counted(workflow: Workflow, target: Target) -> None:
    """Assert that the longest id would be refused if one less were the limit."""
    places = places_of(BACKEND.compile(workflow, target).to_text())
    longest = max((one for one in places if not OF_THE_RUN.fullmatch(one)), key=len)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_LONGEST", len(longest) - 1)
        assert list(check.check_names(workflow)), longest


@pytest.mark.slow
def test_all_ids_of_the_corpus_are_counted() -> None:
    for case in cases():
        if case.name not in REFUSED:
            assert_counted(resolve_defaults(case.workflow), with_files())


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows())
@pytest.mark.slow
def test_all_ids_are_counted(workflow: Workflow) -> None:
    workflow = resolve_defaults(workflow)
    if any(one.severity == "error" for one in BACKEND.check(workflow, Target())):
        return
    try:
        check_engine(workflow, BACKEND, Target())
    except CoulerError:
        return
    assert_counted(workflow, Target())
