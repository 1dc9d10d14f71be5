"""Program order becomes data order, but around barriers and where failures are handled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

import couler
from couler.dsl._context import Context, entered
from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.walk import predecessors
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.passes.relax_program_order import RelaxProgramOrder
from couler.optimizers.pipeline import Pipeline
from tests.corpus.build import (
    any_of,
    first_of,
    flow,
    group,
    on_completion,
    on_failure,
    out,
    ref,
    sh,
)
from tests.dsl.look import box, implicit
from tests.support.dry_runs import run_dry
from tests.support.strategies import acyclic_edges


def relaxed(workflow: Workflow, *barriers: str) -> Workflow:
    planned, _ = Pipeline((RelaxProgramOrder(barriers),)).run(workflow)
    return planned


def program() -> Workflow:
    """Return the workflow of the steps that were made outside of a block."""
    return implicit().to_ir()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Begin as a new program does."""
    with entered(Context()):
        yield


def waits(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    return {step.name: predecessors(step) for step in workflow.steps}


def step(name: str, *after: str, also: tuple[str | Dependency | AnyOf, ...] = ()) -> Step:
    """Return a step that waits for some by the order of the program, and for others by name."""
    return sh(name, "true", depends_on=(*after, *also), program_order=after)


class TestMarks:
    def test_what_the_program_names_as_well_is_no_mark(self) -> None:
        a, b, c = (box(name) for name in "abc")
        couler.chain(b, c)
        couler.chain(a, c)
        last = program().steps[2]
        assert (last.depends_on, last.program_order) == (("b", "a"), ())

    def test_graphs_and_blocks_have_none(self) -> None:
        with couler.Workflow("block") as wf:
            couler.chain(box("a"), box("b"))
        assert all(not one.program_order for one in wf.to_ir().steps)
        couler.set_dependencies(lambda: box("b"), ["a"])
        couler.set_dependencies(lambda: box("a"))
        assert all(not one.program_order for one in program().steps)


class TestData:
    def test_conditions_wait_for_what_they_compare(self) -> None:
        flip = box("flip")
        box("between")
        couler.when(couler.equal(flip, "heads"), lambda: box("heads"))
        assert waits(relaxed(program()))["heads"] == ("flip",)

    def test_what_is_named_stays(self) -> None:
        a, _, c = (box(name) for name in "abc")
        couler.chain(a, c)
        assert waits(relaxed(program())) == {"a": (), "b": (), "c": ("a",)}

    def test_inside_of_groups(self) -> None:
        inner = group("g", step("a"), step("b", "a"))
        made = relaxed(flow("w", inner)).steps[0].action
        assert isinstance(made, Group)
        assert [one.depends_on for one in made.steps] == [(), ()]


PAUSE = Suspend(seconds=1.0)


class TestBarriers:
    @pytest.mark.parametrize(
        "barrier",
        [
            Step(name="s", action=PAUSE),
            Step(name="s", action=Group(steps=(Step(name="p", action=PAUSE),))),
            sh("s", "true", result=None, daemon=True),
            sh("s", "true"),
        ],
        ids=["pause", "group", "daemon", "named"],
    )
    def test_all_before_and_all_after(self, barrier: Step) -> None:
        order = {"depends_on": ("b",), "program_order": ("b",)}
        steps = [step("a"), step("b", "a"), barrier.model_copy(update=order), step("c", "s")]
        made = waits(relaxed(flow("w", *steps, step("d", "c")), "s"))
        assert made == {"a": (), "b": (), "s": ("b", "a"), "c": ("s",), "d": ("s",)}

    @pytest.mark.parametrize("marks", [(), ("x",)], ids=["names-only", "order-too"])
    def test_a_barrier_that_names_what_it_waits_for(self, marks: tuple[str, ...]) -> None:
        steps = [step("x"), step("a"), step("b", "a"), step("s", *marks, also=("b",))]
        made = waits(relaxed(flow("w", *steps, step("c", "s")), "s"))
        assert set(made["s"]) == {"a", "b", *marks}

    @given(acyclic_edges(), st.data())
    @settings(max_examples=60)
    def test_nothing_passes_a_barrier(
        self, edges: dict[str, tuple[str, ...]], data: st.DataObject
    ) -> None:
        if not edges:
            return
        steps = []
        for name, before in edges.items():
            marks = data.draw(st.sets(st.sampled_from(before)) if before else st.just(set()))
            made = sh(name, "true", depends_on=before)
            order = tuple(one for one in before if one in marks)
            steps.append(made.model_copy(update={"program_order": order}))
        barriers = data.draw(st.sets(st.sampled_from(sorted(edges)), min_size=1, max_size=2))
        workflow = flow("w", *steps)
        planned = relaxed(workflow, *sorted(barriers))
        before, after = Graph.of(workflow.steps), Graph.of(planned.steps)
        for name in barriers:
            assert after.ancestors(name) == before.ancestors(name)
            for one in edges:
                assert (name in after.ancestors(one)) == (name in before.ancestors(one))
        for one, old in zip(planned.steps, steps, strict=True):
            assert set(old.depends_on) - set(old.program_order) <= set(one.depends_on)
            assert after.ancestors(one.name) <= before.ancestors(one.name)


class TestFailures:
    def test_more_runs_after_one(self) -> None:
        steps = [sh("a", "echo 2; exit 1"), step("b", "a"), step("c", "b")]
        workflow = flow("w", *steps)
        before, after = run_dry(workflow), run_dry(relaxed(workflow))
        assert (before.status, after.status) == ("failed", "failed")
        assert [state for state, _ in before.steps.values()] == ["failed", "omitted", "omitted"]
        assert [state for state, _ in after.steps.values()] == ["failed", "succeeded", "succeeded"]

    @pytest.mark.parametrize(
        "entry", [on_failure("a"), on_completion("a"), any_of("a", "x")], ids=str
    )
    def test_what_follows_a_step_whose_failure_can_be_made_good(self, entry: Dependency) -> None:
        steps = [step("x"), step("a", "x"), step("b", "a"), step("h", "b", also=(entry,))]
        made = waits(relaxed(flow("w", *steps, outputs=[out("o", source=ref("a"))])))
        assert made["b"] == ("a",)

    def test_what_makes_the_first_of_several_values_certain(self) -> None:
        last = sh(
            "c",
            "echo",
            first_of(ref("p"), ref("h")),
            depends_on=["a", on_completion("p")],
            program_order=["a"],
        )
        steps = [step("a"), step("p", also=("a",)), step("h", also=(on_failure("p"),)), last]
        assert "a" in waits(relaxed(flow("w", *steps)))["c"]


def test_whole_programs_end_as_before() -> None:
    a = box("a")
    couler.when(a == "x", lambda: box("b"))
    couler.concurrent([lambda: box("c"), lambda: (box("d"), box("e", a))])
    box("last", a)
    workflow = program()
    assert run_dry(relaxed(workflow)) == run_dry(workflow)
