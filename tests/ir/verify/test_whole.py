"""Verification of whole workflows: those of the corpus, drawn ones, large ones."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings

from couler.ir.uses import features
from couler.ir.values import ParamRef, StepRef
from couler.ir.verify import verify
from couler.ir.workflow import Parameter, Step, Workflow
from tests.corpus import cases
from tests.support.call_counts import calls
from tests.support.sample_flows import echo, flow
from tests.support.strategies import workflows


def test_the_corpus_is_valid() -> None:
    for case in cases():
        assert [str(found) for found in verify(case.workflow) if found.severity == "error"] == []


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=10)
@given(workflows())
def test_drawn_workflows_are_valid(workflow: Workflow) -> None:
    assert [str(found) for found in verify(workflow) if found.severity == "error"] == []


def large(count: int) -> Workflow:
    """Steps with two dependencies, a value of another step and a parameter each."""

    def step(index: int) -> Step:
        before = tuple(f"s{index - back}" for back in (1, 2) if index >= back)
        read = [StepRef(step=name) for name in before[:1]]
        return echo(f"s{index}", ParamRef(name="p"), *read, depends_on=before)

    steps = map(step, range(count))
    return flow(*steps, parameters=(Parameter(name="p", default="x"),))


@pytest.mark.parametrize("function", [verify, features])
def test_the_work_is_linear_in_the_steps(
    function: Callable[[Workflow], object], measure: Callable[[str, str], None]
) -> None:
    function(large(10))  # what is found out once for each class is no part of the work
    assert calls(function, large(2000)) < 2.1 * calls(function, large(1000))
    workflow = large(5000)
    start = time.process_time()
    function(workflow)
    seconds = time.process_time() - start
    measure(f"{function.__name__} of 5,000 steps", f"{seconds / 5000 * 1e6:.1f} us a step")
