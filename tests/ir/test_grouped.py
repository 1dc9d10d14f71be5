"""What a step tells of the steps that it runs inside."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from couler.ir.grouped import (
    REPORT,
    InnerEnd,
    inner_name,
    inner_names,
    lines_of,
    read_report,
    unbegun,
)
from couler.optimizers.base import PassContext
from couler.optimizers.passes.group import Group
from tests.corpus.build import flow, group, py

LAST = (
    'couler-group: {"version": 1, "steps": [{"name": "a", "state": "failed", "attempts": 2, '
    '"exit_code": 3, "message": "no", "started": "2026-03-01T12:00:00.500+00:00", '
    '"finished": null}, {"name": "b", "state": "omitted", "more": 1}]}'
)


def test_the_last_report_counts() -> None:
    first = 'couler-group: {"version": 1, "steps": [{"name": "old", "state": "failed"}]}'
    assert read_report(["x", first, "a | couler-group: {}", LAST, "after"]).ends == (
        InnerEnd("a", "failed", 2, 3, "no", datetime(2026, 3, 1, 12, 0, 0, 500000, UTC)),
        InnerEnd("b", "omitted"),
    )


@pytest.mark.parametrize("line", ["", "a | " + LAST, "couler-group:"])
def test_what_is_no_report_tells_nothing(line: str) -> None:
    assert read_report([line]) == ((), None)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (LAST[:-5], "cut off, or no JSON"),
        (REPORT + "[]", "of no version, of which version 1 is known here"),
        (LAST.replace('"version": 1, ', ""), "of no version"),
        (LAST.replace('"version": 1', '"version": 2'), "of version 2, of which version 1 is"),
        (LAST.replace('"version": 1', '"version": true'), "of version True"),
        (LAST.replace('"steps"', '"ends"'), "not what its version says"),
        (REPORT + '{"version": 1, "steps": 3}', "not what its version says"),
        (REPORT + '{"version": 1, "steps": ["a"]}', "not what its version says"),
        (LAST.replace('"omitted"', '"paused"'), "not what its version says"),
        (LAST.replace("2026-03-01T", "yesterday "), "not what its version says"),
    ],
    ids=str,
)
def test_a_report_that_cannot_be_understood_says_why(line: str, problem: str) -> None:
    ends, said = read_report([line])
    assert ends == ()
    assert said is not None
    assert problem in said


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("skipped", ["skipped", "skipped", "skipped"]),
        ("omitted", ["omitted", "omitted", "omitted"]),
        ("failed", ["failed", "omitted", "failed"]),
        ("succeeded", []),
    ],
)
def test_steps_inside_of_one_that_did_not_begin(state: str, expected: list[str]) -> None:
    steps = (py("a", "1"), py("b", "2", depends_on=["a"]), py("c", "3"))
    [made] = Group().run(flow("w", *steps), PassContext()).steps
    ends = unbegun(made, state, "why")
    assert [end.state for end in ends] == expected
    assert unbegun(steps[0], state) == ()
    assert all(end.message == ("why" if state == end.state else None) for end in ends)


def test_lines_of_one_step() -> None:
    lines = ["a | x", "ab | y", "a ! z", "b | a | w", "a | ", LAST]
    assert list(lines_of("a", lines)) == ["x", "z", ""]
    assert list(lines_of("b", lines)) == ["a | w"]


def test_names_of_the_steps_inside() -> None:
    inner = group("g", py("a", "1"), py("b", "2", depends_on=["a"]))
    made = Group().run(flow("w", inner, py("c", "GROUP = 3")), PassContext())
    [g, c] = made.steps
    [both] = g.action.steps  # type: ignore[union-attr]  # a group
    assert (inner_names(both), inner_names(c), inner_names(g)) == (("a", "b"), (), ())
    assert inner_name(made, "g[2]/a-to-b", "g[2]/b") == "b"
    assert inner_name(made, "g/a-to-b", "a") == "a"
    assert inner_name(made, "g/a-to-b", "g/a-to-b") is None
    assert inner_name(made, "g/a-to-b", "merged-into-a") is None
    assert inner_name(made, "c", "c") is None
    assert inner_name(made, "no path[", "c") is None
