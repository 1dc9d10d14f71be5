"""What a run says of the steps that made it fail."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pytest

from couler.ir.semantics.places import failure_text
from couler.ir.workflow import ExitHandler, Group, Step
from tests.corpus.build import flow, group, on_failure, sh

FLOW = flow(
    "w",
    sh("make", "true"),
    group("part", sh("inner", "true"), sh("next", "true", depends_on=["inner"])),
    sh("each", "true", foreach=list(range(20)), depends_on=["make"]),
    sh("repair", "true", depends_on=[on_failure("make")]),
    sh("behind", "true", depends_on=["part", "each"]),
    exit_handlers=(ExitHandler(name="tell", on="any", steps=(sh("mail", "true"),)),),
)


@dataclass
class End:
    status: str


@pytest.mark.parametrize(
    ("failed", "left_out", "told"),
    [
        ("part part/inner", "part/next behind", "failed: part/inner"),
        ("part", "behind", "failed: part"),
        ("each each[3] each[7]", "behind", "failed: each[3], each[7]"),
        ("make", "each behind", "failed: make"),  # what is omitted behind it has no repair
        ("make part part/inner", "each behind", "failed: make, part/inner"),
        ("exit:tell exit:tell/mail", "", "failed: exit:tell/mail"),
        ("make", "", None),  # repaired
        ("", "behind", None),
    ],
)
def test_the_steps_that_made_a_run_fail(failed: str, left_out: str, told: str | None) -> None:
    ends = {step.name: End("succeeded") for step in FLOW.steps}
    ends |= {path: End("omitted") for path in left_out.split()}
    ends |= {path: End("failed") for path in failed.split()}
    assert failure_text(FLOW, ends) == told


def _repaired(name: str, **fields: t.Any) -> Step:
    """Return a group with a step whose failure is handled, and one whose failure is not."""
    inner = (sh("try", "true"), sh("undo", "true", depends_on=[on_failure("try")]))
    return group(name, *inner, sh("bad", "true"), **fields)


UNSEEN = Group(steps=(sh("a", "true"), sh("b", "true")), transparent=True)
NESTED = flow(
    "w",
    sh("make", "true"),
    Step(name="unseen", action=UNSEEN, depends_on=(on_failure("make"),)),
    _repaired("part"),
    _repaired("each", foreach=[1, 2]),
    group("outer", _repaired("inner")),
    exit_handlers=(ExitHandler(name="tell", on="any", steps=(_repaired("mail"),)),),
)


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        ("part part/try part/bad", "failed: part/bad"),
        ("part part/try", "failed: part"),  # for a reason of its own
        ("each each[1] each[1]/try each[1]/bad each[0]/try", "failed: each[1]/bad"),
        ("outer outer/inner outer/inner/try outer/inner/bad", "failed: outer/inner/bad"),
        ("part/try", None),
        ("make", None),
        ("make a b", "failed: a, b"),
        (
            "exit:tell exit:tell/mail exit:tell/mail/try exit:tell/mail/bad",
            "failed: exit:tell/mail/bad",
        ),
    ],
)
def test_what_a_group_has_handled_is_not_named(failed: str, told: str | None) -> None:
    groups = ("part", "each[0]", "each[1]", "outer/inner", "exit:tell/mail")
    paths = {"make", "a", "b", "each", "outer", "exit:tell", *groups}
    paths |= {f"{at}/{name}" for at in groups for name in ("try", "undo", "bad")}
    ends = {path: End("failed" if path in failed.split() else "succeeded") for path in paths}
    assert failure_text(NESTED, ends) == told


def test_only_some_of_many_are_named() -> None:
    ends = {f"each[{number}]": End("failed") for number in range(12)} | {"each": End("failed")}
    told = failure_text(FLOW, ends)
    assert told is not None
    assert (told.count("each["), told.endswith(" and 2 more")) == (10, True)
