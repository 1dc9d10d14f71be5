"""Conditions are folded as far as the order of evaluation and failures allow, and no further."""

from __future__ import annotations

import pytest

from couler.ir.values import And, Condition, Or, Template
from couler.ir.workflow import ExitHandler, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.fold_constant_conditions import FoldConstantConditions
from couler.optimizers.pipeline import Pipeline
from tests.corpus.build import (
    both,
    compare,
    either,
    flow,
    given,
    group,
    last,
    negate,
    on_completion,
    or_else,
    param,
    parameter,
    part,
    ref,
    sh,
    text,
    while_,
)

TRUE, FALSE = compare(1, "<", 2), compare("a", "==", "b")
OPEN, OTHER = compare(param("p"), "==", "x"), compare(param("p"), "!=", "y")
READ = compare(ref("first"), "==", "x")


def folded(workflow: Workflow) -> Workflow:
    planned, _ = Pipeline((FoldConstantConditions(),)).run(workflow)
    return planned


def workflow(step: Step, *others: Step) -> Workflow:
    return flow("w", *others, step, parameters=[parameter("p", "x")])


def left_of(condition: Condition) -> Condition | None:
    return folded(workflow(sh("a", "true", when=condition))).steps[-1].when


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (TRUE, None),
        (FALSE, FALSE),
        (OPEN, OPEN),
        (negate(FALSE), None),
        (negate(TRUE), negate(TRUE)),
        (negate(negate(OPEN)), negate(negate(OPEN))),
        (And(items=()), None),
        (Or(items=()), Or(items=())),
        (both(TRUE, OPEN), OPEN),
        (both(TRUE, both(TRUE, TRUE)), None),
        (both(OPEN, TRUE, OTHER), both(OPEN, OTHER)),
        (either(FALSE, OPEN), OPEN),
        (either(FALSE, FALSE), FALSE),
        (either(FALSE, both(TRUE, OPEN)), OPEN),
        # What comes after a part that decides is never reached.
        (either(TRUE, OPEN), None),
        (either(both(FALSE, OPEN), OTHER), OTHER),
        (either(both(FALSE, OPEN), FALSE), FALSE),
        # What stands before it is, and may fail.
        (either(OPEN, TRUE, OTHER), either(OPEN, TRUE)),
        (negate(both(OPEN, FALSE, OTHER)), negate(both(OPEN, FALSE))),
        (negate(both(OPEN, negate(either(TRUE, OTHER)))), negate(both(OPEN, negate(TRUE)))),
        # All parts of a whole `and` make reads under the same condition safe.
        (both(FALSE, OPEN), both(FALSE, OPEN)),
        (both(OPEN, either(FALSE, FALSE)), both(OPEN, FALSE)),
        # Values that are made of literals are as good.
        (compare(text("a", 1), "==", "a1"), None),
        (compare(part({"k": 3}, "k"), ">", 2), None),
    ],
    ids=str,
)
def test_what_is_left(condition: Condition, left: Condition | None) -> None:
    assert left_of(condition) == left


def test_a_comparison_that_fails_stays() -> None:
    broken = compare(Template(parts=("many",)), ">", 1)
    step = sh("a", "true", when=either(broken, TRUE))
    assert FoldConstantConditions().run(workflow(step), PassContext()).steps[0].when == step.when


class TestReads:
    def test_the_step_still_waits_for_what_it_no_longer_reads(self) -> None:
        first = sh("first", "echo x")
        after = sh("a", "true", when=either(TRUE, READ))
        step = folded(workflow(after, first)).steps[-1]
        assert (step.when, step.depends_on) == (None, ("first",))

    def test_a_dependency_that_is_named_stays_what_it_is(self) -> None:
        first = sh("first", "echo x")
        read = compare(or_else(ref("first"), "none"), "==", "x")
        after = sh("a", "true", when=either(TRUE, read), depends_on=[on_completion("first")])
        step = folded(workflow(after, first)).steps[-1]
        assert (step.when, step.depends_on) == (None, (on_completion("first"),))

    def test_standard_output_that_is_a_value_only_when_it_is_read_is_still_read(self) -> None:
        first = sh("first", "echo x", result=None)
        after = sh("a", "true", when=either(TRUE, READ))
        assert folded(workflow(after, first)).steps[-1].when == after.when

    def test_exit_handlers_wait_for_no_step_of_the_workflow(self) -> None:
        read = compare(or_else(ref("first"), "none"), "==", "x")
        tell = sh("tell", "true", when=either(TRUE, read))
        handler = ExitHandler(name="h", on="any", steps=(tell,))
        made = folded(flow("w", sh("first", "echo x"), exit_handlers=[handler]))
        # It is not told which outputs steps of another scope declare.
        assert made.exit_handlers[0].steps[0] == tell


class TestLoops:
    @staticmethod
    def left(condition: Condition) -> Condition | None:
        step = sh("a", "echo 1", last(initial=0), result="int", loop=while_(condition))
        loop = folded(workflow(step)).steps[0].loop
        return None if loop is None else loop.condition

    def test_parts_go(self) -> None:
        again = compare(last(), "<", 3)
        assert self.left(both(TRUE, again)) == again

    def test_a_loop_stays_one(self) -> None:
        never = both(FALSE, compare(last(), "<", 3))
        assert self.left(never) == never

    def test_a_loop_still_compares_its_rounds(self) -> None:
        condition = both(OPEN, either(TRUE, compare(last(), "<", 3)))
        assert self.left(condition) == condition


def test_inside_of_groups() -> None:
    inner = sh("a", "true", when=TRUE)
    made = folded(flow("w", group("g", inner)))
    action = made.steps[0].action
    assert [step.when for step in action.steps] == [None]  # type: ignore[union-attr]  # a group


def test_inputs_of_groups_that_are_given_literals() -> None:
    inner = group(
        "inner",
        sh("a", "true", when=compare(param("n"), ">", 2)),
        sh("b", "true", when=compare(param("n"), ">", 3)),
        sh("c", "true", when=compare(param("m"), "==", "x")),
        inputs=[given("n", param("stage"), "int"), given("m", param("p"))],
    )
    inputs = [given("stage", "3"), given("p", param("p"))]
    made = folded(flow("w", group("g", inner, inputs=inputs), parameters=[parameter("p", "x")]))
    steps = made.steps[0].action.steps[0].action.steps  # type: ignore[union-attr]  # groups
    assert [step.when for step in steps] == [
        None,
        compare(param("n"), ">", 3),
        compare(param("m"), "==", "x"),
    ]
