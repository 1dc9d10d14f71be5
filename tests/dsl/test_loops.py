"""Loops: over one step or several, with values that are carried from round to round."""

from __future__ import annotations

import pytest

import couler
from couler.ir.values import Compare, Literal, Not, ParamRef, RoundRef, StepRef
from couler.ir.workflow import Input
from tests.dsl.look import box, codes, inner, steps


@couler.step
def improve(score: float, rate: float = 1.0) -> float:
    return score


def test_the_bound_is_twenty_if_none_is_given() -> None:
    with couler.Workflow("w") as wf:
        couler.exec_while(couler.equal("tails"), lambda: box("flip"))
    assert steps(wf)["flip"].loop.max_iterations == 20


def test_several_steps_are_a_group() -> None:
    def body() -> object:
        return box("b", box("a"))

    with couler.Workflow("w") as wf:
        out = couler.exec_while(lambda result: result < 3, body)
        box("after", out)
    group = steps(wf)["body"]
    assert group.loop.condition == Compare(
        left=RoundRef(output="b"), op="<", right=Literal(value=3)
    )
    assert [(one.name, one.value) for one in group.outputs] == [("b", StepRef(step="b"))]
    assert steps(wf)["after"].action.args == (StepRef(step="body", output="b"),)
    assert codes(wf) == []


def test_one_sided_conditions_can_be_joined() -> None:
    with couler.Workflow("w") as wf:
        couler.exec_while(couler.equal("x") | ~couler.equal("y"), lambda: box("b"))
    left, right = steps(wf)["b"].loop.condition.items
    assert (left.left, right.item.left) == (RoundRef(), RoundRef())


def test_the_result_of_a_function_that_returns_nothing_is_that_of_its_last_step() -> None:
    def body() -> None:
        box("a")
        box("b")

    with couler.Workflow("w") as wf:
        couler.exec_while(couler.equal("x"), body)
    assert steps(wf)["body"].loop.condition.left == RoundRef(output="b")


def test_a_block_carries_a_value_of_a_single_step() -> None:
    with couler.Workflow("w", start=0.5) as wf:
        with couler.loop(while_=lambda: better < 0.9, max_iterations=9) as rounds:
            score = rounds.carry(wf.params.start)
            better = improve(score)
            rounds.next(better)
        box("after", better)
    step = steps(wf)["improve"]
    assert step.inputs == (
        Input(
            name="score",
            value=RoundRef(initial=ParamRef(name="start")),
            type="float",
        ),
    )
    assert steps(wf)["after"].action.args == (StepRef(step="improve"),)
    assert codes(wf) == []


def test_a_block_of_several_steps_carries_several_values() -> None:
    with couler.Workflow("w") as wf:
        first = improve(0.0)
        with couler.loop(name="search", max_iterations=9) as rounds:
            score, rate = rounds.carry(first, name="score"), rounds.carry(1.0, name="rate")
            better = improve(score, rate)
            slower = improve(rate)
            rounds.next(score, better)
            rounds.next(rate, slower)
            rounds.until((better > 0.9) | (slower < 0.1))
        improve(better)
        box("after", rounds.result)
    group = steps(wf)["search"]
    assert {one.name: one.value for one in group.inputs} == {
        "score": RoundRef(output="improve", initial=StepRef(step="improve")),
        "rate": RoundRef(output="improve_2", initial=Literal(value=1.0)),
    }
    assert isinstance(group.loop.condition, Not)
    assert inner(group)["improve"].inputs[0].value == ParamRef(name="score")
    assert [one.code for one in wf.diagnostics] == ["CLR115"]


def test_loops_in_maps_and_maps_in_loops() -> None:
    with couler.Workflow("w") as wf:
        couler.map(lambda x: couler.exec_while(couler.equal("a"), lambda: box("a", x)), [1, 2])
        couler.exec_while(
            lambda _: again == "yes",
            lambda: couler.map(lambda x: box("b", x), [1, 2]),
        ) if False else None
        with couler.loop() as rounds:
            couler.map(lambda x: box("b", x), [1, 2])
            again = box("again")
            rounds.while_(again == "yes")
    assert codes(wf) == []
    assert inner(steps(wf)["loop"])["b"].foreach is not None
    outer = steps(wf)["map"]
    assert outer.foreach is not None
    assert inner(outer)["a"].loop is not None


def test_a_condition_on_the_loop_stands_outside_of_it() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        with couler.when(a == "x"):
            couler.exec_while(couler.equal("tails"), lambda: box("flip"))
    assert steps(wf)["flip"].when is not None


def test_wrong_loops_are_reported_at_their_line() -> None:
    with couler.Workflow("w") as wf:
        with couler.loop():
            box("a")
        with couler.loop(while_=lambda: True):
            pass
        with couler.loop() as rounds:
            value = rounds.carry(1)
            rounds.while_(box("b", value) == "x")
        with couler.loop() as rounds:
            rounds.next(box("c"))
            rounds.while_(box("d") == "x")
        with couler.loop() as rounds:
            value = rounds.carry(1)
            rounds.next(3)
            rounds.while_(box("e", value) == "x")
    assert [one.code for one in wf.diagnostics] == [
        "CLR129",
        "CLR128",
        "CLR129",
        "CLR129",
        "CLR129",
        "CLR129",
    ]
    assert [one.source.line for one in wf.diagnostics if one.source][:2] == [
        wf.diagnostics[0].source.line,
        wf.diagnostics[0].source.line + 2,
    ]


def test_an_exception_in_a_loop_leaves_nothing_behind() -> None:
    with couler.Workflow("w") as wf:
        with pytest.raises(ZeroDivisionError), couler.loop():
            box("a", 1 / 0)
        box("b")
    assert list(steps(wf)) == ["b"]
