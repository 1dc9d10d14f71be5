"""Search spaces: what values there are, grids, draws, conditions."""

from __future__ import annotations

import json
import random
import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.errors import TuningError
from couler.tuning.space import key_of, parse_space

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
        ("{parameters: {a: {values: [1]}}, candidates: given}", "list given is empty"),
        ("{parameters: {a: {values: [1]}}, given: [{a: 2}]}", "given, number 1: a is 2"),
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


def test_a_grid_has_all_combinations_that_the_conditions_allow() -> None:
    grid = parse_space(CONDITIONAL).grid()
    assert len(grid) == 3 + 3 * 3  # 3 of layers with adam; with sgd times 3 of momentum
    assert len({key_of(one) for one in grid}) == len(grid)
    assert all(not parse_space(CONDITIONAL).problems(one) for one in grid)


def test_a_grid_is_bounded() -> None:
    many = ", ".join(f"p{number}: {{low: 0, high: 1, steps: 100}}" for number in range(8))
    with pytest.raises(TuningError, match="more than 200 candidates"):
        parse_space(f"parameters: {{{many}}}").grid()


@given(st.integers())
def test_what_is_drawn_is_in_the_space(seed: int) -> None:
    space = parse_space(CONDITIONAL)
    drawn = space.draw(5, random.Random(seed), set())
    assert len(drawn) == 5
    assert all(not space.problems(one) for one in drawn)
    assert drawn == space.draw(5, random.Random(seed), set())


def test_a_logarithmic_range_is_drawn_evenly_in_the_logarithm() -> None:
    space = parse_space("parameters: {a: {low: 0.0001, high: 1, log: true}}")
    drawn = [one["a"] for one in space.draw(400, random.Random(1), set())]
    below = sum(one < 0.01 for one in drawn)
    assert 150 < below < 250  # half of the logarithms; evenly it would be 4


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
    with pytest.raises(TuningError, match="more than 100 deep"):
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
