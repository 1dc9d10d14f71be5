"""Handles: values that can be passed, compared, indexed and given defaults, and no text."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import NamedTuple

import pytest

import couler
from couler.ir.values import (
    Compare,
    Field,
    FirstOf,
    Literal,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Template,
)
from tests.dsl.look import box, codes, inner, steps


class Pair(NamedTuple):
    name: str
    score: float


@dataclass
class Config:
    rate: float
    layers: list[int]


@couler.step
def pick() -> Pair:
    return Pair("svm", 0.9)


@couler.step
def load() -> dict[str, Config]:
    return {}


@couler.step
def use(value: object) -> None: ...


def test_fields_of_a_named_tuple_are_outputs() -> None:
    with couler.Workflow("w") as wf:
        best = pick()
        name, score = best
        box("show", best.name, score, name)
    assert steps(wf)["show"].action.args == (
        StepRef(step="pick", output="name"),
        StepRef(step="pick", output="score"),
        StepRef(step="pick", output="name"),
    )
    assert [(one.name, one.type) for one in steps(wf)["pick"].outputs] == [
        ("name", "str"),
        ("score", "float"),
    ]


def test_parts_of_a_json_value_are_fields() -> None:
    with couler.Workflow("w") as wf:
        use(load()["small"].layers[0])
    path = ("small", "layers", 0)
    assert steps(wf)["use"].inputs[0].value == Field(of=StepRef(step="load"), path=path)


def test_an_unknown_attribute_names_the_nearest() -> None:
    with couler.Workflow("w"):
        best = pick()
        with pytest.raises(AttributeError, match='Did you mean "score"'):
            _ = best.scor
        assert dir(best) == ["name", "or_else", "score"]


def test_comparing_gives_a_condition() -> None:
    with couler.Workflow("w") as wf, couler.when(pick().score > 0.5):
        box("deploy")
    expected = Compare(left=StepRef(step="pick", output="score"), op=">", right=Literal(value=0.5))
    assert steps(wf)["deploy"].when == expected


def test_or_else_with_a_default_and_with_another_value() -> None:
    with couler.Workflow("w", fallback="none") as wf:
        a = box("a")
        box("b", a.or_else("x"), a.or_else(wf.params.fallback), couler.or_else(a, "y"))
    first, second, third = steps(wf)["b"].action.args
    assert first == OrElse(value=StepRef(step="a"), default=Literal(value="x"))
    assert second == OrElse(value=StepRef(step="a"), default=ParamRef(name="fallback"))
    assert third == OrElse(value=StepRef(step="a"), default=Literal(value="y"))


def test_first_of_and_text() -> None:
    with couler.Workflow("w") as wf:
        a, b = box("a"), box("b")
        box("c", couler.first_of(a, b, "none"), couler.text("{} and {x}{{}}", a, x=b))
    first, text = steps(wf)["c"].action.args
    assert first == FirstOf(options=(StepRef(step="a"), StepRef(step="b"), Literal(value="none")))
    assert text == Template(parts=(StepRef(step="a"), " and ", StepRef(step="b"), "{", "}"))


@pytest.mark.parametrize("template", ["{:>3}", "{1}", "{x}", "{0.name}", "{!r}"])
def test_text_refuses_what_it_would_not_do(template: str) -> None:
    with couler.Workflow("w"), pytest.raises(couler.DefinitionError, match="CLR134"):
        couler.text(template, box("a"))


def test_facts_of_the_run() -> None:
    with couler.Workflow("w") as wf, couler.group("g"):
        box("a", wf.run_facts.id, wf.run_facts.logical_date)
    assert inner(steps(wf)["g"])["a"].action.args == (
        RunRef(field="id"),
        RunRef(field="logical_date"),
    )


@pytest.mark.parametrize(
    ("misuse", "code"),
    [
        (lambda value: bool(value), "CLR113"),
        (lambda value: bool(value == 1), "CLR113"),
        (lambda value: 0 < value < 1, "CLR113"),
        (lambda value: value in ["a"], "CLR113"),
        (lambda value: list(value), "CLR112"),
        (lambda value: len(value), "CLR112"),
        (lambda value: "a" in value, "CLR112"),
        (lambda value: f"{value}", "CLR114"),
        (lambda value: "%s" % value, "CLR114"),  # noqa: UP031
        (lambda value: str(value), "CLR114"),
        (lambda value: value[1.5], "CLR111"),
        (lambda value: value[True], "CLR111"),
    ],
)
def test_what_is_known_only_at_run_time_cannot_be_used_before(misuse, code) -> None:
    wf = couler.Workflow("w", size=1)
    with wf, pytest.raises(couler.DefinitionError, match=code) as caught:
        misuse(wf.params.size)
    assert f"{caught.value.diagnostic.source}  {code} error" in str(caught.value)
    assert caught.value.diagnostic.source.file.endswith("test_handles.py")


def test_a_handle_can_be_a_key_and_be_shown() -> None:
    with couler.Workflow("w"):
        a = box("a")
        assert {a: 1}[a] == 1
        assert repr(a) == "<couler step a>"
        assert repr(pick().name) == "<couler value pick.name>"


def test_a_step_that_returns_nothing_has_no_value() -> None:
    with couler.Workflow("w") as wf:
        box("b", use(1))
        box("c", pick())
    messages = [problem.message for problem in wf.diagnostics]
    assert [problem.code for problem in wf.diagnostics] == ["CLR115", "CLR115"]
    assert "returns nothing" in messages[0]
    assert "read one of its outputs: name, score" in messages[1]


def test_a_value_of_another_workflow_is_reported() -> None:
    with couler.Workflow("one"):
        a = box("a")
    with couler.Workflow("two") as two:
        b = box("b", a)
        a >> b
    assert [problem.code for problem in two.diagnostics] == ["CLR118"]


def test_values_stand_for_themselves_in_copies() -> None:
    with couler.Workflow("w"):
        a = box("a")
        assert copy.deepcopy({"a": [a]})["a"][0] is a
        assert copy.copy(a) is a


def test_a_result_of_a_known_length_is_unpacked() -> None:
    @couler.step
    def both() -> tuple[int, str]:
        return 1, "a"

    @couler.step
    def count(number: int) -> int:
        return number

    with couler.Workflow("w") as wf:
        number, name = both()
        count(number)
        box("b", name)
        assert len(both()) == 2
        with pytest.raises(couler.DefinitionError, match=r"CLR143 .*tuple\[int, str\].*no \[2\]"):
            _ = both()[2]
    assert codes(wf) == []
    assert steps(wf)["b"].action.args == (Field(of=StepRef(step="both"), path=(1,)),)
