"""Search spaces: values, conditions, defaults."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.errors import TuningError
from couler.tuning.space import parse_space

CONDITIONAL = """
parameters:
  solver: {values: [adam, sgd], default: adam}
  momentum: {low: 0.5, high: 0.9, default: 0.9, when: {solver: [sgd]}}
  layers: {type: int, low: 1, high: 4}
"""


@pytest.mark.parametrize(
    ("parameter", "problem"),
    [
        ("{}", "give values, or low and high"),
        ("{low: 1}", "a range has low and high"),
        ("{low: 2, high: 1}", r"low \(2\) is not below high \(1\)"),
        ("{low: 0, high: 1, log: true}", "has low above 0"),
        ("{type: int, low: 0.5, high: 2}", "whole numbers"),
        ("{values: [1], low: 1}", "values are given"),
        ("{values: [a, b], default: c}", 'the default is "c"; it is one of "a", "b"'),
        ("{low: 0, high: 1, default: 2}", "the default is 2; it is from 0 to 1"),
        ("{low: .nan, high: 1}", "finite number"),
        ("{low: 0, hihg: 1}", 'no key "parameters.p.hihg". Did you mean "high"'),
    ],
)
def test_what_is_no_parameter_is_refused(parameter: str, problem: str) -> None:
    with pytest.raises(TuningError, match=problem):
        parse_space(f"parameters: {{p: {parameter}}}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("parameters: {}", "there is none"),
        ("parameters: {a b: {values: [1]}}", "no name of a parameter"),
        ("{parameters: {a: {values: [1]}}, candidates: grid}", 'there is no key "candidates"'),
        (
            "parameters: {a: {values: [1], when: {b: [1]}}, b: {values: [1]}}",
            "when names b, which is not above it",
        ),
        (
            "parameters: {b: {values: [1]}, a: {values: [1], when: {b: [2]}}}",
            "when: b is 2; it is one of 1",
        ),
    ],
)
def test_what_is_no_space_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TuningError, match=problem):
        parse_space(text)


@pytest.mark.parametrize(
    ("setting", "problems"),
    [
        ({"solver": "adam", "layers": 2}, []),
        ({"solver": "adam", "layers": 2.0}, []),
        ({"solver": "sgd", "momentum": 0.5, "layers": 1}, []),
        ({"solver": "sgd", "layers": 1}, ["momentum is missing"]),
        ({"solver": "adam", "momentum": 0.5, "layers": 1}, ["momentum is only there when"]),
        ({"solver": "adam", "layers": True}, ["layers is true; it is a whole number"]),
        ({"solver": "adam", "layers": 1.5}, ["layers is 1.5; it is a whole number"]),
        ({"solver": "adam", "layers": float("inf")}, ["layers is inf"]),
        ({"solver": "adam", "layers": "2"}, ['layers is "2"']),
    ],
)
def test_candidates_are_checked(setting: dict[str, t.Any], problems: list[str]) -> None:
    found = parse_space(CONDITIONAL).problems(setting)
    assert len(found) == len(problems)
    assert all(one.startswith(start) for one, start in zip(found, problems, strict=True))


def test_true_is_not_one_and_lists_are_compared() -> None:
    space = parse_space("parameters: {a: {values: [true, [1, 2]]}}")
    assert space.problems({"a": 1})
    assert not space.problems({"a": True})
    assert not space.problems({"a": [1, 2.0]})


def test_defaults_follow_conditions() -> None:
    with_default = CONDITIONAL.replace("high: 4}", "high: 4, default: 2}")
    assert parse_space(CONDITIONAL).default is None
    assert parse_space(with_default).default == {"solver": "adam", "layers": 2}
    sgd = with_default.replace("default: adam", "default: sgd")
    assert parse_space(sgd).default == {"solver": "sgd", "momentum": 0.9, "layers": 2}


@pytest.mark.parametrize(
    "values", ["[1, 2, 1]", "[1, 1.0]", "[null, a, null]", "[[1, 2], [1.0, 2]]"]
)
def test_the_same_value_twice_is_refused(values: str) -> None:
    with pytest.raises(TuningError) as caught:
        parse_space(f"parameters: {{a: {{values: {values}}}}}")
    assert "is there twice" in str(caught.value)


def test_a_key_that_is_there_twice_is_refused() -> None:
    with pytest.raises(TuningError, match=r'^search space:3: the key "a" is there twice'):
        parse_space("parameters:\n  a: {low: 0, high: 1}\n  a: {low: 0, high: 2}\n")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(TuningError, match="no YAML: maximum recursion depth"):
        parse_space("parameters: " + "[" * 600 + "]" * 600)


@pytest.mark.parametrize("key", ["low", "high", "default"])
def test_a_number_that_no_float_can_hold_is_refused(key: str) -> None:
    range_ = {"low": "0", "high": "1", "default": "0", key: str(10**400)}
    with pytest.raises(TuningError):
        parse_space(f"parameters: {{a: {json.dumps(range_)}}}".replace('"', " "))


def test_what_is_empty_is_told_as_such() -> None:
    with pytest.raises(TuningError, match=r"parameters\.a\.values is empty"):
        parse_space("parameters: {a: {values: []}}")
    with pytest.raises(TuningError, match="it is empty, and no table with the keys parameters"):
        parse_space("\n")


def test_prompts_have_a_default_that_is_none() -> None:
    space = parse_space("parameters: {a: {values: [null, 1], default: null}, b: {values: [1]}}")
    assert space.for_prompt() == {
        "a": {"values": (None, 1), "default": None},
        "b": {"values": (1,)},
    }
