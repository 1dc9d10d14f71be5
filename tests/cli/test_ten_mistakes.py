"""One run of `couler validate` reports every mistake of a program, with its line and its mend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from couler.cli import app

PROGRAM = Path(__file__).parents[1] / "programs" / "ten_mistakes.py"

MISTAKES = {
    ("CLR150", 'Workflow("Ten_Mistakes"'): 'Did you mean "ten-mistakes"?',
    ("CLR406", 'schedule="61 * * * *"'): "bad minute",
    ("CLR107", 'load(rows="many")'): "must be int",
    ("CLR101", "load()"): '"rows" is missing',
    ("CLR104", "train(dta=data)"): 'Did you mean "data"?',
    ("CLR105", "20 parsecs"): "write '90s'",
    ("CLR401", "train(dta=data)"): 'Did you mean "1G"?',
    ("CLR211", "deploy(s3)"): "or_else",
    ("CLR161", "wf.params.rowz"): 'Did you mean "rows"?',
    ("CLR150", 'step_name="a b"'): 'Did you mean "a-b"?',
    ("CLR202", 'step_name="b"'): "b -> c -> b",
    ("CLR413", 'step_name="b"'): "no digit first",
    ("CLR401", 'cpu="lots"'): "500m",
}
"""Code and the text of the line -> what the message says to mend it."""


@pytest.mark.parametrize(("place", "mend"), MISTAKES.items(), ids=str)
def test_each_mistake_is_reported_at_its_line(place: tuple[str, str], mend: str) -> None:
    code, text = place
    lines = PROGRAM.read_text().splitlines()
    [line] = [number for number, line in enumerate(lines, start=1) if text in line]
    found = [
        problem["message"]
        for problem in report()
        if (problem["code"], problem["line"]) == (code, line)
    ]
    assert any(mend in message for message in found), found


def report() -> list[dict[str, object]]:
    """Run `couler validate` once and return its diagnostics."""
    result = CliRunner().invoke(app, ["validate", str(PROGRAM), "-e", "argo", "--format", "json"])
    assert result.exit_code == 1
    return json.loads(result.stdout)["diagnostics"]
