"""What a failed step tells names the files and lines of the project, and nothing of Couler's."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.stages.programs import load_program

MODULE = "def work(x):\n    raise ValueError(x)\n"
PROGRAM = '''
"""A program."""
import warnings
import couler
from shop import pricing

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
  File "shop/pricing.py", line 2, in work
    raise ValueError(x)
ValueError: 0
"""


def test_a_failed_step_names_lines_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/pricing.py").write_text(MODULE)
    (tmp_path / "flow.py").write_text(PROGRAM)
    loaded = load_program(str(tmp_path / "flow.py"))
    assert loaded.diagnostics == ()
    result = LocalBackend().run(loaded.workflow, options=RunOptions(home=tmp_path / "home"))
    assert result.status == "failed"
    [log] = (result.folder / "logs").iterdir()
    told = "".join(
        one for one in log.read_text().splitlines(True) if one.strip(" ~^\n") or one == "\n"
    )
    assert told.replace('  warnings.warn("look")\n', "") == EXPECTED
