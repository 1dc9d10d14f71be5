"""One mistake gives one diagnostic: what follows from it alone is not told again."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import pytest

import couler
from tests.dsl.look import box, codes


@couler.step
def number(x: int) -> int: ...


@couler.step
def numbers(xs: list[int]) -> int: ...


@couler.step
def size(file: couler.File) -> int: ...


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"memroy": "1Gi"}, "CLR104"),
        ({"timeout": "soon"}, "CLR105"),
        ({"image": ["a b"]}, "CLR105"),
        ({"image": "a b"}, "CLR408"),
        ({"memory": "1Gx"}, "CLR401"),
        ({"labels": {"-": "a"}}, "CLR412"),
        ({"env": {"1": "a"}}, "CLR413"),
        ({"name": "a b"}, "CLR150"),
        ({"command": "sh"}, "CLR418"),
        ({"command": "sh", "packages": ["numpy"]}, "CLR418"),
    ],
)
def test_a_wrong_option_of_a_decorator_is_told_once(options: dict[str, t.Any], code: str) -> None:
    @couler.step(**options)
    def one(x: int) -> int: ...

    with couler.Workflow("w", n=1) as wf:
        one(1)
        one(2)
        one.map([1, 2])
        with couler.group("g"):
            one(3)
        box("read", one(4))
    assert codes(wf) == [code]


READERS: list[Callable[[t.Any], object]] = [
    lambda value: number(value),
    lambda value: numbers(value),
    lambda value: size(value),
    lambda value: number(value["a"]),
    lambda value: number(value.or_else(3)),
    lambda value: number(couler.first_of(value, 3)),
    lambda value: number.map(value),
    lambda value: numbers(number.map(value)),
    lambda value: couler.map(number, value),
    lambda value: box("read", value),
    lambda value: couler.text("{}", value),
    lambda value: box("read", env={"A": value}),
    lambda value: couler.run_script("python", source="pass", args=[value], step_name="read"),
    lambda value: couler.when(value > 3, lambda: box("then")),
    lambda value: couler.when(value == "a", lambda: box("then")).otherwise(lambda: box("else")),
]


def test_a_type_that_cannot_travel_is_told_of_once() -> None:
    @couler.step
    def wrong(x: complex) -> int: ...

    @couler.step
    def unreadable(x: "Missing") -> int: ...  # type: ignore[name-defined]  # noqa: F821, UP037

    @couler.step
    def gives() -> complex: ...

    with couler.Workflow("w") as wf:
        wrong(1j)
        numbers(wrong.map([1j, 2j]))
    assert codes(wf) == ["CLR108"]
    with couler.Workflow("w") as wf:
        number(unreadable(object()))
    assert codes(wf) == ["CLR108"]
    with couler.Workflow("w") as wf:
        value = gives()
        for read in READERS:
            read(value)
        box("part", value.real)
    assert codes(wf) == ["CLR108"]
