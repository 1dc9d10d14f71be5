"""Which steps run something, and what they wait for, whatever groups are around."""

from __future__ import annotations

from couler.ir.values import Literal, StepRef
from couler.ir.workflow import (
    ExitHandler,
    Foreach,
    Group,
    Input,
    Output,
    Step,
    Suspend,
    Workflow,
)
from couler.optimizers.placement.flattening import Link, flatten
from tests.support.placement import step


def links_of(*steps: Step) -> list[Link]:
    return flatten(Workflow(name="w", steps=steps)).links


def over(items: int) -> Foreach:
    return Foreach(over={"item": Literal(value=tuple(range(items)))})


def test_a_pause_hands_on_what_it_waits_for() -> None:
    pause = step("pause", "a", action=Suspend(seconds=5))
    other = step("other", "pause", action=Suspend(seconds=5))
    assert links_of(step("a"), pause, other, step("b", "other")) == [Link("a", "b", False)]


def test_a_group_of_pauses_is_passed_through() -> None:
    empty = Group(steps=(step("wait", action=Suspend(seconds=1)),))
    assert links_of(step("a"), step("g", "a", action=empty), step("b", "g")) == [
        Link("a", "b", False)
    ]


def test_items_are_tasks_and_read_each_their_own() -> None:
    fit = step("fit", foreach=over(3), outputs=(Output(),))
    score = step("score", foreach=Foreach(over={"model": StepRef(step="fit")}))
    best = step("best", inputs=(Input(name="scores", value=StepRef(step="fit"), many=True),))
    flat = flatten(Workflow(name="w", steps=(fit, score, best)))
    assert [(one.path, one.copies, one.items) for one in flat.steps] == [
        ("fit", 3, 1.0),
        ("score", 3, 1.0),
        ("best", 1, 1.0),
    ]
    assert flat.links == [Link("fit", "score", True, 3), Link("fit", "best", True)]


def test_steps_of_one_item_of_a_group_belong_together() -> None:
    inner = Group(steps=(step("fit"), step("test", "fit")))
    assert links_of(step("each", action=inner, foreach=over(4))) == [
        Link("each/fit", "each/test", False, 4)
    ]


def test_exit_handlers_are_there_and_wait_for_nothing() -> None:
    handler = ExitHandler(name="clean", on="any", steps=(step("sweep"),))
    flat = flatten(Workflow(name="w", steps=(step("a"),), exit_handlers=(handler,)))
    assert [one.step.name for one in flat.steps] == ["a", "sweep"]
    assert flat.links == []
