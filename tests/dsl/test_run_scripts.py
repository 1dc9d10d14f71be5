"""Scripts run the functions of their steps, whatever names and comments these have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.glue import run_text, taking_text
from couler.stages.programs import load_program
from tests.dsl.test_tracebacks import loaded_from, told_of

WITH_CHILDREN = """
import multiprocessing
import couler

def double(x):
    return 2 * x

@couler.step
def work() -> list[int]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(double, [1, 2])

with couler.Workflow("w") as wf:
    wf.output("found", work())
"""
SAME_NAMES = """
import couler

def write(x):
    return x + 1

def run(x):
    # From step:12, which begins no line
    return write(x)

@couler.step
def work(x: int) -> int:
    return run(x)

with couler.Workflow("w") as wf:
    wf.output("found", work(1))
"""
LIKE_A_MARK = '''
import couler

@couler.step
def work() -> str:
    return """
# From step:12
"""

with couler.Workflow("w") as wf:
    wf.output("found", work())
'''
ANOTHER_PROGRAM = """
import os
import couler

@couler.step(command=["env", "python3"])
def work() -> str:
    return str(os.getcwd() == os.environ["COULER_WORK"])

with couler.Workflow("w") as wf:
    wf.output("found", work())
"""


@pytest.mark.parametrize(
    ("program", "found"),
    [
        pytest.param(WITH_CHILDREN, [2, 4], id="children"),
        pytest.param(SAME_NAMES, 2, id="names"),
        pytest.param(ANOTHER_PROGRAM, "True", id="program"),
    ],
)
def test_a_script_gives_what_its_function_returns(
    program: str, found: object, tmp_path: Path
) -> None:
    workflow = loaded_from(program, tmp_path)
    result = LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home"))
    assert result.status == "succeeded", [one.read_text() for one in tmp_path.rglob("logs/*")]
    assert result.outputs["found"] == found, json.dumps(result.outputs)


def test_a_line_that_scripts_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(LIKE_A_MARK)
    [problem] = load_program(str(tmp_path / "flow.py")).diagnostics
    assert problem.code == "CLR125"
    assert 'the line "# From step:12" is one that the script uses itself' in problem.message


def test_a_value_that_cannot_travel_is_told_without_a_traceback(tmp_path: Path) -> None:
    program = SAME_NAMES.replace("return run(x)", 'return float("nan")').replace(
        "-> int", "-> float"
    )
    told = told_of(loaded_from(program, tmp_path), tmp_path)
    problem = "Out of range float values are not JSON compliant"
    assert told == f"the output result cannot travel: {problem}\n"


def test_a_script_can_be_given_as_text(tmp_path: Path) -> None:
    text = 'import sys\nif __name__ == "__main__":\n    print(sys.argv, __file__)\n'
    run = taking_text(run_text())
    environ = {"COULER_WORK": str(tmp_path / "work")}
    done = subprocess.run(
        [sys.executable, "-c", run, text], env=environ, capture_output=True, text=True, check=True
    )
    path = f"{tmp_path}/work.py"
    assert done.stdout == f"['{path}'] {path}\n"
    assert Path(path).read_text() == text
