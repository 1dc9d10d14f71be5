"""What is said of a retry before it begins."""

from __future__ import annotations

import pytest

from couler.cli._planned import say_if_not_run
from couler.cli.session import Session
from couler.ir.semantics.replay import PlannedStep

FALSE = "its condition is false"
PLANNED = (
    PlannedStep("small", "skipped", FALSE),
    PlannedStep("each[0]/fit", "skipped", FALSE),
    PlannedStep("each[1]/fit", "runs", "it is to run again"),
    PlannedStep("later", "runs", "it depends on each, which runs"),  # its items are not known yet
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, ""),
        ("small", "note: --from small runs nothing of it: it stays skipped, as " + FALSE),
        ("each[0]", "note: --from each[0] runs nothing of it: it stays skipped, as " + FALSE),
        ("each[7]", "note: --from each[7] runs nothing of it: there is no such item or round"),
        ("each[1]/fit", ""),
        ("each", ""),
        ("fit", ""),
        ("later[3]", ""),
        ("later[3]/inner", ""),
        ("inner", ""),  # a step in `later`
    ],
)
def test_what_is_asked_for_and_does_not_run_is_told(
    text: str | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    say_if_not_run(Session(), text, PLANNED)
    assert capsys.readouterr().err.rstrip("\n") == told
