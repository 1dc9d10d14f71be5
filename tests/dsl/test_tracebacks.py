"""What a failed step tells names the files and lines of the project, and nothing of Couler's."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.workflow import Workflow
from couler.stages.programs import load_program

MODULE = "def work(x):\n    raise ValueError(x)\n"
PROGRAM = '''
"""A program."""
import warnings
import couler
from market import pricing

def unused():
    pass

def share(x):
    # of a whole

    return 1 / x

@couler.step
def prices(x: int) -> float:
    warnings.warn("look")
    try:
        return share(x)
    except ZeroDivisionError:
        pricing.work(x)

with couler.Workflow("w"):
    prices(0)
'''
STATEMENT = """
import os
import couler

limit = 1 / int(os.environ.get("SHARE_OF", "0"))

@couler.step
def work() -> float:
    return limit

with couler.Workflow("w"):
    work()
"""
EXPECTED = """\
flow.py:17: UserWarning: look
Traceback (most recent call last):
  File "flow.py", line 19, in prices
    return share(x)
  File "flow.py", line 13, in share
    return 1 / x
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "flow.py", line 21, in prices
    pricing.work(x)
  File "market/pricing.py", line 2, in work
    raise ValueError(x)
ValueError: 0
"""


def loaded_from(program: str, folder: Path) -> Workflow:
    (folder / "flow.py").write_text(program)
    loaded = load_program(str(folder / "flow.py"))
    assert loaded.diagnostics == ()
    return loaded.workflow


def told_of(workflow: Workflow, folder: Path) -> str:
    """Return what the step that fails prints, without the marks below its lines."""
    result = LocalBackend().run(workflow, options=RunOptions(home=folder / "home"))
    assert result.status == "failed"
    [log] = (result.folder / "logs").iterdir()
    lines = log.read_text().splitlines(True)
    return "".join(one for one in lines if one.strip(" ~^\n") or one == "\n")


def test_a_failed_step_names_lines_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "market").mkdir()
    (tmp_path / "market/pricing.py").write_text(MODULE)
    told = told_of(loaded_from(PROGRAM, tmp_path), tmp_path)
    assert told.replace('  warnings.warn("look")\n', "") == EXPECTED


def test_a_failed_statement_of_the_file_names_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARE_OF", "1")
    workflow = loaded_from(STATEMENT, tmp_path)
    monkeypatch.delenv("SHARE_OF")
    assert (
        told_of(workflow, tmp_path)
        == """\
Traceback (most recent call last):
  File "flow.py", line 5, in <module>
    limit = 1 / int(os.environ.get("SHARE_OF", "0"))
ZeroDivisionError: division by zero
"""
    )
