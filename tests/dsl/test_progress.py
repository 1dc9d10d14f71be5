"""Progress that steps report: a line of their log, with nothing of Couler where they run."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

import couler
from couler.cluster.objects import read_progress
from couler.dsl.plain import strip_couler
from couler.dsl.progress import REPORT
from couler.ir.workflow import Script
from couler.stages.programs import load_program

BY_ATTRIBUTE = """
import couler

@couler.step
def train(steps: int) -> float:
    for step in range(steps):
        couler.report_progress(loss=1 / (step + 1), done=step / steps, note="é")
    return 1.0
"""

BY_NAME = """
from couler import Workflow, report_progress, step
import couler

def tell(loss):
    report_progress(loss=loss)

@step
def train(steps: int) -> float:
    for number in range(steps):
        tell(1 / (number + 1))
    return 1.0
"""

UNDER_ANOTHER_NAME = BY_NAME.replace("report_progress,", "report_progress as say,").replace(
    "    report_progress(", "    say("
)


@pytest.mark.parametrize("text", [BY_ATTRIBUTE, BY_NAME, UNDER_ANOTHER_NAME])
def test_steps_report_progress_without_couler(text: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f'{text}\nwith couler.Workflow("w") as wf:\n    train(2)\n')
    [step] = load_program(str(program)).workflow.steps
    assert isinstance(step.action, Script)
    assert "import couler" not in step.action.source
    ran = subprocess.run(
        [sys.executable, "-I", "-c", f"{step.action.source}\ntrain(2)"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    found = [read_progress(line) for line in ran.stdout.splitlines()]
    assert [one["loss"] for one in found if one] == [1.0, 0.5], ran.stderr


def test_modules_report_progress_without_couler() -> None:
    module = """
import couler
from couler import report_progress as say

def tell(loss):
    say(loss=loss)
    couler.report_progress(loss=loss)
"""
    text = strip_couler(module)
    assert "couler." not in text
    assert text.count("\n") == module.count("\n")
    made: dict[str, t.Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(text, made)
        made["tell"](2.0)
    assert told.getvalue() == 'couler-progress {"loss": 2.0}\n' * 2


def test_what_is_printed_here_and_in_a_step_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    couler.report_progress(loss=0.25, done=0.5, epoch=3)
    eval(REPORT)(loss=0.25, done=0.5, epoch=3)
    first, second = capsys.readouterr().out.splitlines()
    assert first == second == 'couler-progress {"loss": 0.25, "done": 0.5, "epoch": 3}'
    couler.report_progress(done=1)
    assert capsys.readouterr().out == 'couler-progress {"done": 1}\n'


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('couler-progress {"loss": 1}', {"loss": 1}),
        ('2026-11-30T00:00:00Z couler-progress {"loss": 1}', {"loss": 1}),
        ("couler-progress {", {}),
        ("couler-progress 3", {}),
        ("epoch 3", {}),
    ],
)
def test_lines_of_logs(line: str, found: object) -> None:
    assert read_progress(line) == found
    json.dumps(found)
