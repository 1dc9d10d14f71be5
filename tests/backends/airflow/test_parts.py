"""Parts are groups that Airflow shows; ids, edges and all else of the tasks stay as they are."""

from __future__ import annotations

import ast
import re
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.parts import laid_out, part_ids
from couler.backends.base import Target
from couler.errors import CoulerError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Part
from couler.ir.verify import verify
from couler.ir.walk import predecessors
from couler.ir.workflow import Step, Workflow
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.backends.airflow.files import operators_of, places_of
from tests.backends.airflow.ruff import formatted
from tests.corpus import cases
from tests.support.airflow_target import with_files
from tests.support.divisions import divided, undivided
from tests.support.sample_flows import echo, flow
from tests.support.strategies import workflows

BACKEND = AirflowBackend()


def of(part: str, *, run: str | None = None) -> Part:
    return Part(group=part, run=run)


def compiled(workflow: Workflow, target: Target | None = None) -> str:
    workflow = resolve_defaults(workflow)
    target = target or Target()
    assert check_engine(workflow, BACKEND, target) == ()
    return BACKEND.compile(workflow, target).to_text()


def step(name: str, *after: str, part: Part | None = None, **fields: t.Any) -> Step:
    return echo(name, depends_on=after, part=part, **fields)


def test_steps_of_a_part_stand_in_its_block_and_those_of_a_run_around_it() -> None:
    text = compiled(
        flow(
            step("a", part=of("first", run="early")),
            step("free"),
            step("b", "a", part=of("last", run="early")),
            step("c", "a", part=of("beside")),
            step("d", "b", "free", part=of("last", run="early")),
            step("e", "d", part=Part(run="early")),
            step("f", "e", "c"),
        )
    )
    body = text.partition("\n):\n")[2]
    shown = [
        line
        for line in body.splitlines()
        if re.search(r"with |>>|task_id| = \w+\(task_id", line) and line.strip()
    ]
    kept = [re.sub(r"KubernetesPodOperator\(.*", "...", line) for line in shown]
    assert kept == [
        "    free = ...",
        '    with TaskGroup("early", prefix_group_id=False):',
        '        with TaskGroup("first", prefix_group_id=False):',
        "            a = ...",
        '        with TaskGroup("last", prefix_group_id=False):',
        "            b = ...",
        "            a >> b",
        "            d = ...",
        "            [b, free] >> d",
        "        e = ...",
        "        d >> e",
        '    with TaskGroup("beside", prefix_group_id=False):',
        "        c = ...",
        "        a >> c",
        "    f = ...",
        "    [e, c] >> f",
    ]


@pytest.mark.nightly
@pytest.mark.slow
def test_the_tasks_of_the_corpus_are_those_of_the_flat_file() -> None:
    for case in cases():
        if case.name not in REFUSED:
            flat = compiled(undivided(case.workflow), with_files())
            for seed in range(2):
                assert_same_tasks(flat, divided(case.workflow, seed), with_files())


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows(), st.integers(0, 1000))
def test_the_tasks_of_random_workflows_are_those_of_the_flat_file(
    workflow: Workflow, seed: int
) -> None:
    if any(one.severity == "error" for one in BACKEND.check(resolve_defaults(workflow), Target())):
        return
    try:
        check_engine(resolve_defaults(workflow), BACKEND, Target())
    except CoulerError:
        return
    flat = compiled(undivided(workflow), Target())
    assert_same_tasks(flat, divided(workflow, seed), Target())


def assert_same_tasks(other: str, parts: Workflow, target: Target) -> None:
    """Assert that two files have the same tasks and edges, and that parts stand together."""
    assert not [one for one in verify(resolve_defaults(parts)) if one.severity == "error"]
    text = compiled(parts, target)
    groups = set(part_ids(parts).values())
    assert text.count("prefix_group_id=False") == len(groups)
    places = places_of(text)
    assert len(places) == len(set(places))
    assert {*places} - groups == {*places_of(other)}
    made, wanted = operators_of(text), operators_of(other)
    assert made.keys() == wanted.keys()
    assert edges_of(text) == edges_of(other)


def edges_of(text: str) -> list[str]:
    """Return the statements that put tasks into an order, however they are laid out."""
    return sorted(
        ast.unparse(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.BinOp)
        and isinstance(node.value.op, ast.RShift)
    )


@pytest.mark.checkout  # which has ruff
def test_the_file_is_laid_out_as_ruff_has_it() -> None:
    names = [f"a-step-with-a-rather-long-name-{number}" for number in range(8)]
    first = [step(name, part=of("many", run="first")) for name in names]
    text = compiled(flow(*first, step("join", *names, part=of("one", run="first"))))
    assert formatted(text) == text


@given(st.integers(0, 10_000))
def test_no_step_stands_before_one_that_it_waits_for(seed: int) -> None:
    steps = tuple(
        step(f"s{number}", *(f"s{one}" for one in range(number) if (seed >> one + number) % 3 == 0))
        for number in range(12)
    )
    workflow = divided(flow(*steps), seed)
    seen: set[str] = set()
    for one in laid_out(workflow.steps, part_ids(workflow) or {("group", "x"): "x"}):
        assert seen.issuperset(predecessors(one.step))
        seen.add(one.step.name)
    assert len(seen) == len(steps)
