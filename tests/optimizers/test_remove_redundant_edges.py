"""An edge goes only if order and outcome follow without it, whatever fails or is skipped."""

from __future__ import annotations

import pytest
from hypothesis import given

from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.workflow import ExitHandler, Group, Step
from couler.optimizers.passes.remove_redundant_edges import RemoveRedundantEdges
from couler.optimizers.pipeline import Pipeline
from tests.corpus.build import (
    any_of,
    compare,
    first_of,
    flow,
    group,
    on_completion,
    on_failure,
    or_else,
    ref,
    sh,
)
from tests.support.dry_runs import run_dry
from tests.support.strategies import acyclic_edges

FALSE = compare("a", "==", "b")


def step(name: str, *after: str | Dependency | AnyOf, says: str = "true", **fields: object) -> Step:
    return sh(name, says, depends_on=after, **fields)  # type: ignore[arg-type]  # a shorthand


def reduced(*steps: Step) -> dict[str, tuple[object, ...]]:
    """Return what each step depends on after the pass, which keeps the outcome."""
    workflow = flow("w", *steps)
    planned, _ = Pipeline((RemoveRedundantEdges(),)).run(workflow)
    assert run_dry(planned) == run_dry(workflow)
    return {one.name: one.depends_on for one in planned.steps}


CHAIN = (step("a"), step("b", "a"))


def test_name_of_what_is_read_anyway() -> None:
    steps = (step("a"), sh("b", "echo", ref("a"), depends_on=["a"]))
    assert reduced(*steps)["b"] == ()


def test_completion_of_what_is_read_stays() -> None:
    reader = sh("b", "echo", or_else(ref("a"), "none"), depends_on=[on_completion("a")])
    assert reduced(step("a"), reader)["b"] == (on_completion("a"),)


@pytest.mark.parametrize("between", [on_failure("a"), on_completion("a"), any_of("a", "x")])
def test_success_is_implied_by_success_alone(between: Dependency | AnyOf) -> None:
    steps = (step("a", says="exit 1"), step("x"), step("b", between), step("c", "a", "b"))
    assert reduced(*steps)["c"] == ("a", "b")


def test_completion_is_implied_by_any_path() -> None:
    steps = (
        step("a", says="exit 1"),
        step("b", on_failure("a")),
        step("c", on_completion("a"), "b"),
    )
    assert reduced(*steps)["c"] == ("b",)


def test_failures_and_alternatives_stay() -> None:
    steps = (*CHAIN, step("c", on_failure("a"), "b"), step("d", any_of("a", "b"), "b"))
    assert reduced(*steps) == {
        "a": (),
        "b": ("a",),
        "c": (on_failure("a"), "b"),
        "d": (any_of("a", "b"), "b"),
    }


class TestSkips:
    """A step that is skipped below a failure hands it on to those that are skipped as well."""

    FAILED = step("x", says="echo no; exit 1; exit 1")
    SKIPPED = step("a", on_completion("x"), when=FALSE)

    def test_failed_branch_reaches_a_skipped_leaf_by_the_edge_alone(self) -> None:
        steps = (self.FAILED, self.SKIPPED, step("b", "a"), step("c", "a", "b", when=FALSE))
        workflow = flow("w", *steps)
        shorter = flow("w", *steps[:-1], step("c", "b", when=FALSE))
        assert run_dry(workflow).steps["x"][0] == "failed"
        assert (run_dry(workflow).status, run_dry(shorter).status) == ("failed", "succeeded")
        assert reduced(*steps)["c"] == ("a", "b")

    def test_a_leaf_that_cannot_be_skipped_needs_it_not(self) -> None:
        steps = (self.FAILED, self.SKIPPED, step("b", "a"), step("c", "a", "b"))
        assert reduced(*steps)["c"] == ("b",)

    def test_completion_of_a_step_that_failed(self) -> None:
        steps = (
            step("a", says="exit 1"),
            step("b", on_failure("a")),
            step("c", on_completion("a"), "b", when=FALSE),
        )
        assert reduced(*steps)["c"] == (on_completion("a"), "b")


def test_what_makes_the_first_of_several_values_certain_stays() -> None:
    steps = (
        step("a"),
        step("b", "a"),
        step("p", "a"),
        step("h", on_failure("p")),
        sh(
            "c",
            "echo",
            first_of(ref("p"), ref("h")),
            depends_on=["a", "b", on_completion("p")],
        ),
    )
    assert reduced(*steps)["c"] == ("a", "b", on_completion("p"))


def test_inside_of_groups_and_exit_handlers() -> None:
    steps = (*CHAIN, step("c", "a", "b"))
    handler = ExitHandler(name="h", on="any", steps=steps)
    workflow = flow("w", group("g", *steps), exit_handlers=[handler])
    planned, log = Pipeline((RemoveRedundantEdges(),)).run(workflow)
    inner = planned.steps[0].action
    assert isinstance(inner, Group)
    assert inner.steps[2].depends_on == planned.exit_handlers[0].steps[2].depends_on == ("b",)
    assert log.records[0].reason == (
        "2 dependencies are left out: other paths wait for the same steps."
    )


@given(acyclic_edges())
def test_is_the_transitive_reduction(edges: dict[str, tuple[str, ...]]) -> None:
    if not edges:
        return
    workflow = flow("w", *(step(name, *before) for name, before in edges.items()))
    planned, _ = Pipeline((RemoveRedundantEdges(),)).run(workflow)
    before, after = Graph.of(workflow.steps), Graph.of(planned.steps)
    for name in edges:
        assert after.ancestors(name) == before.ancestors(name)
        for one in after.predecessors[name]:
            others = set(after.predecessors[name]) - {one}
            assert all(one not in after.ancestors(other) for other in others)
    again, _ = Pipeline((RemoveRedundantEdges(),)).run(planned)
    assert again is planned
