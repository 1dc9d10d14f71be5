"""Hostile programs: each is stopped at the gate, and each in the box without the gate."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.box.escapes import (
    ESCAPES,
    SECRETS,
    Outside,
    at_the_gate,
    in_the_box,
    outside,
    together,
    told,
)
from tests.box.hostile import Escape

QUICK = {
    *("body of a step in the build", "crash of the interpreter", "endless loop", "ends at once"),
    *("forged status of the walls", "forged workflow that is right", "list that grows"),
    *("much output", "pickle as the result", "secret of its own", "sleep"),
}
"""One of each kind; a start of Python for each of the others takes too long for every run."""

ALONE = [
    pytest.param(one, id=one.name, marks=() if one.name in QUICK else pytest.mark.slow)
    for one in ESCAPES
    if one.alone
]
TOGETHER = [one for one in ESCAPES if not one.alone]


@pytest.fixture
def around() -> Iterator[Outside]:
    def nobody(*_: object) -> None:
        raise AssertionError("a signal came out of the box")

    before = signal.signal(signal.SIGUSR1, nobody)
    with outside() as found:
        yield found
        found.assert_untouched()
    signal.signal(signal.SIGUSR1, before)


def test_there_are_many_and_each_has_a_name() -> None:
    names = [one.name for one in ESCAPES]
    assert len(set(names)) == len(names) >= 40
    assert set(names) >= QUICK


def test_the_gate_stops_them(around: Outside) -> None:
    for escape in ESCAPES:
        codes = at_the_gate(escape, around)
        expected = escape.gate in codes if escape.gate is not None else codes == []
        assert expected, f"{escape.name}: {codes}"


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.usefixtures("box")
@pytest.mark.parametrize("escape", ALONE)
def test_the_box_holds_it_without_the_gate(escape: Escape, around: Outside) -> None:
    built = in_the_box(escape, around)
    report = told(built)
    assert escape.box in report
    assert "ESCAPED" not in built.output
    assert escape.box == "data" or not built.is_sound
    assert not any(secret in report + built.output for secret in SECRETS)


@pytest.mark.usefixtures("box")
def test_the_box_holds_all_others_without_the_gate(around: Outside) -> None:
    found = together(TOGETHER, around)
    assert len(found) == len(TOGETHER)
    wrong = {
        one.name: report
        for one, report in zip(TOGETHER, found, strict=True)
        if (one.box not in report and one.box != "CLR626") or "nothing stopped" in report
    }
    assert wrong == {}


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.usefixtures("box")
@pytest.mark.parametrize("escape", TOGETHER, ids=lambda one: one.name)
def test_the_box_holds_each_alone(escape: Escape, around: Outside) -> None:
    built = in_the_box(escape, around)
    assert escape.box in told(built)
    assert built.workflow is None
    assert "ESCAPED" not in built.output
