"""One mistake gives one diagnostic: what follows from it alone is not told again."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import pytest

import couler
from couler.ir.verify import verify
from tests.dsl.look import box, codes, problems, steps


class Pair(t.NamedTuple):
    a: int
    b: str


@couler.step
def nothing() -> None: ...


@couler.step
def pair() -> Pair: ...


@couler.step
def number(x: int) -> int: ...


@couler.step
def numbers(xs: list[int]) -> int: ...


@couler.step
def size(file: couler.File) -> int: ...


@couler.step
def both(left: int, right: int) -> int: ...


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


def test_a_wrong_option_beside_values_of_the_workflow_is_told_where_it_is_written() -> None:
    with couler.Workflow("w", n=1) as wf:
        one = number.with_options(env={"N": wf.params.n}, timeout="soon")
        line = test_a_wrong_option_beside_values_of_the_workflow_is_told_where_it_is_written
        one(1)
        one(2)
        with couler.group("g"):
            one(3)
    assert codes(wf) == ["CLR105"]
    assert wf.diagnostics[0].source.line == line.__code__.co_firstlineno + 2


def test_settings_of_a_step_made_in_a_loop_are_told_of_once() -> None:
    with couler.Workflow("w") as wf:
        for index in range(3):
            couler.run_container("busybox", ["true"], step_name=f"a-{index}", memory="1Gx")
        couler.run_container("busybox", ["true"], step_name="b", memory="1Gx")
        couler.run_container("busybox", ["true"], step_name="c", memory="2Gx")
    assert [(one.code, one.step) for one in problems(wf)] == [
        ("CLR401", "a-0"),
        ("CLR401", "b"),
        ("CLR401", "c"),
    ]


def test_wrong_reads_at_one_place_are_told_of_for_every_step() -> None:
    with couler.Workflow("w", n=1) as wf:
        with couler.when(wf.params.n > 1):
            maybe = number(1)
        for name in ("a", "b"):
            box(name, maybe)
    assert codes(wf) == ["CLR211", "CLR211"]


@pytest.mark.parametrize("count", [1, 2])
def test_lists_of_different_lengths_are_told_of_once(count: int) -> None:
    with couler.Workflow("w") as wf:
        for _ in range(count):
            numbers(both.map([1, 2], [1]))
        couler.map(lambda left, right: box("a", left, right), [1, 2], (1, 2, 3))
    assert codes(wf) == ["CLR126", "CLR126"]


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


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("make", [nothing, pair])
def test_a_step_without_a_value_is_told_of_once_for_a_reader(
    make: Callable[[], object], read: Callable[[t.Any], object]
) -> None:
    with couler.Workflow("w") as wf:
        read(make())
    assert codes(wf) == ["CLR115"]


def test_a_step_that_returns_nothing_is_told_of_once_for_all_readers() -> None:
    with couler.Workflow("w") as wf:
        value = nothing()
        for read in READERS:
            read(value)
        wf.output("result", value)
    assert codes(wf) == ["CLR115"]


@pytest.mark.parametrize("make", [nothing, pair])
def test_a_round_without_a_value_is_told_of_once(make: Callable[[], object]) -> None:
    with couler.Workflow("w") as wf:
        couler.exec_while(lambda value: value > 3, make)
    assert codes(wf) == ["CLR115"]


def test_each_read_of_a_step_with_several_values_is_to_be_mended() -> None:
    with couler.Workflow("w") as wf:
        value = pair()
        number(value)
        number(value)
    assert codes(wf) == ["CLR115", "CLR115"]


def test_a_value_of_another_workflow_is_told_of_once() -> None:
    with couler.Workflow("other"):
        other = number(1)
    for read in (READERS[0], *READERS[9:]):
        with couler.Workflow("w") as wf:
            read(other)
            box("here")
        assert set(codes(wf)) == {"CLR118"}


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


def test_an_item_of_the_wrong_type_is_told_of_once() -> None:
    with couler.Workflow("w") as wf:
        numbers(number.map([1, "a"]))
        both.map([1, "a"], [1, 2])
    assert codes(wf) == ["CLR107", "CLR107"]
    assert all(one.foreach is not None for name, one in steps(wf).items() if name != "numbers")


@pytest.mark.parametrize("wrong", [3, "abc", {"a": 1}])
def test_what_is_no_list_is_told_of_once(wrong: object) -> None:
    with couler.Workflow("w") as wf:
        numbers(both.map([1, 2], wrong))
        couler.map(lambda left, right: box("a", left, right), [1, 2], wrong)
    assert codes(wf) == ["CLR127", "CLR127"]


def test_a_value_that_is_no_list_is_told_of_once() -> None:
    with couler.Workflow("w") as wf:
        numbers(number.map(number(1)))
    assert codes(wf) == ["CLR127"]


@pytest.mark.parametrize("manifest", ["kind: [", "a text", ["a"]])
def test_a_manifest_that_cannot_be_read_is_told_of_once(manifest: t.Any) -> None:
    with couler.Workflow("w") as wf:
        couler.run_job(manifest, step_name="job")
    assert codes(wf) == ["CLR136"]


def test_a_wrong_action_of_a_job_is_told_of_once() -> None:
    with couler.Workflow("w") as wf:
        couler.run_job({"apiVersion": "v1", "kind": "Job"}, action="fly", step_name="job")
    assert codes(wf) == ["CLR105"]


def test_a_misspelt_argument_is_not_missing_as_well() -> None:
    with couler.Workflow("w") as wf:
        both(left=1, rihgt=2)
        both.partial(lfet=1).map(right=[1, 2])
        both.partial(left=1).map(rihgt=[1, 2])
        both(1, lfet=2)
        both(left=1, other=2)
    assert [(one.code, one.source.line) for one in wf.diagnostics] == [
        (code, wf.diagnostics[0].source.line + offset)
        for code, offset in [
            ("CLR104", 0),
            ("CLR104", 1),
            ("CLR104", 2),
            ("CLR104", 3),
            ("CLR101", 3),
            ("CLR104", 4),
            ("CLR101", 4),
        ]
    ]
    assert verify(wf.to_ir()) == ()
