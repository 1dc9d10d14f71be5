"""What a run says of the steps that made it fail."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from couler.ir.evaluation.places import failure_text
from couler.ir.workflow import ExitHandler
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


def test_only_some_of_many_are_named() -> None:
    ends = {f"each[{number}]": End("failed") for number in range(12)} | {"each": End("failed")}
    told = failure_text(FLOW, ends)
    assert told is not None
    assert (told.count("each["), told.endswith(" and 2 more")) == (10, True)
