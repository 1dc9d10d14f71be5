"""Pipelines by name, with passes added and left out."""

from __future__ import annotations

import typing as t

import pytest

from couler.errors import ConfigurationError, EngineOptionError
from couler.optimizers.base import options_of
from couler.optimizers.pipeline import built_in_pass, select_passes

pytestmark = pytest.mark.usefixtures("samples")

NAMED = {
    "two": ["tag-steps{key=a}", "reverse-steps"],
    "twice": ["tag-steps", "reverse-steps", "tag-steps"],
    "wrong": ["reverse-steps", "tag-steps{kye=a}"],
}


def told(*args: t.Any, **kwargs: t.Any) -> list[tuple[str, dict[str, t.Any]]]:
    passes = select_passes(*args, named=NAMED, **kwargs)
    return [(pass_.name, options_of(pass_)) for pass_ in passes]


TAGGED_A = ("tag-steps", {"key": "a", "values": ("yes",)})
TAGGED = ("tag-steps", {"key": "tag", "values": ("yes",)})
REVERSED: tuple[str, dict[str, t.Any]] = ("reverse-steps", {})


def test_added_with_options_takes_the_place_of_those_of_its_name() -> None:
    assert told("two", add=["tag-steps{key=b}"]) == [
        ("tag-steps", {"key": "b", "values": ("yes",)}),
        REVERSED,
    ]
    assert told("two", add=["tag-steps{}"]) == [TAGGED, REVERSED]
    assert told("two", add=["tag-steps"]) == [TAGGED_A, REVERSED]
    assert told("twice", add=["tag-steps{key=a}"]) == [TAGGED_A, REVERSED, TAGGED_A]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"pipeline": "tow"}, 'no pipeline "tow"; there are: default, none, two,'),
        ({"without": ["tag-step"]}, 'no pass "tag-step" to leave out; .*Did you mean "tag-steps"'),
        ({"add": ["tag-steps{"]}, "character 11: the name of an option"),
        ({"add": ["tag-steps", "tag-steps{key=a}"]}, '"tag-steps" is added twice'),
        ({"add": ["tag-steps"], "without": ["tag-steps"]}, "both added and left out"),
    ],
)
def test_wrong_choices(arguments: dict[str, t.Any], problem: str) -> None:
    with pytest.raises(EngineOptionError, match=problem):
        select_passes(**{"named": NAMED, **arguments})


def test_wrong_named_pipeline_is_a_matter_of_configuration() -> None:
    with pytest.raises(ConfigurationError, match=r'^pipeline "wrong": .*"kye".*mean "key"'):
        select_passes("wrong", named=NAMED)


def test_own_pass_that_is_not_there_is_looked_for_among_all() -> None:
    assert built_in_pass("tag-steps").name == "tag-steps"
    with pytest.raises(EngineOptionError, match='no pass "gone"'):
        built_in_pass("gone")


def test_passes_that_are_added_come_before_those_that_fit_the_engine() -> None:
    chosen = select_passes(add=("roll-loops", "report-dead-steps"))
    assert [one.name for one in chosen] == ["roll-loops", "report-dead-steps", "split"]
    named = {"own": ("split", "report-dead-steps")}
    chosen = select_passes("own", add=("roll-loops",), named=named)
    assert [one.name for one in chosen] == ["split", "report-dead-steps", "roll-loops"]
