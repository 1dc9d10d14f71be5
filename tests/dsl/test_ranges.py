"""Ranges that are mapped over."""

from __future__ import annotations

import pytest

import couler
from couler.errors import CoulerError
from couler.ir.values import Literal, ParamRef, Range, StepRef
from couler.ir.workflow import Step


def show(x: object) -> object:
    return couler.run_container("busybox", ["echo", x], step_name="show")


def mapped(*lists: object, **parameters: int) -> Step:
    with couler.Workflow("w", **parameters) as wf:
        couler.map(show, *lists)
    return wf.to_ir().steps[0]


def number(value: int) -> Literal:
    return Literal(value=value)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (range(10_000), Range(count=number(10_000))),
        (range(3, 5), Range(start=number(3), count=number(2))),
        (range(5, 3), Range(start=number(5), count=number(0))),
        (range(0, 6, 2), Literal(value=(0, 2, 4))),
        (range(3, 0, -1), Literal(value=(3, 2, 1))),
    ],
)
def test_a_range_stays_one(given: range, kept: object) -> None:
    foreach = mapped(given).foreach
    assert foreach is not None
    assert foreach.over["x"] == kept


def test_its_ends_are_values_of_the_workflow() -> None:
    with couler.Workflow("w", last=3) as wf:
        first = couler.run_container("busybox", ["echo", "1"], step_name="first")
        couler.map(show, couler.sequence(first, wf.params.last, format="n%02d"))
    [_, shown] = wf.to_ir().steps
    assert shown.foreach is not None
    assert shown.foreach.over["x"] == Range(
        start=StepRef(step="first"), end=ParamRef(name="last"), format="n%02d"
    )


def test_typed_steps_take_its_items() -> None:
    @couler.step
    def twice(n: int) -> int:
        return 2 * n

    with couler.Workflow("w") as wf:
        twice.map(range(4))
        twice.map(n=couler.sequence(count=2))
    assert [step.foreach is not None for step in wf.to_ir().steps] == [True, True]


def test_lists_beside_it_are_as_long() -> None:
    with couler.Workflow("w") as wf:
        couler.map(lambda x, y: show(x), couler.sequence(1, 3), ["a", "b"])
    assert [one.code for one in wf.diagnostics] == ["CLR126"]


def test_a_range_of_texts_is_none_of_numbers() -> None:
    @couler.step
    def twice(n: int) -> int:
        return 2 * n

    with couler.Workflow("w") as wf:
        twice.map(couler.sequence(1, 3, format="n%d"))
    assert [one.code for one in wf.diagnostics] == ["CLR107"]


@pytest.mark.parametrize("given", [{}, {"end": 2, "count": 2}, {"count": 1.5}, {"end": True}])
def test_what_is_no_range(given: dict[str, object]) -> None:
    with pytest.raises(CoulerError) as caught, couler.Workflow("w"):
        show(couler.sequence(**given))  # type: ignore[arg-type]  # wrong on purpose
    assert "CLR187" in str(caught.value)
