"""What starting and compiling cost, in counts that are the same on every machine.

The counts are upper limits for the versions in which they were measured, in `budget.toml`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.measure.size import BUDGET, ROOT

LIMITS = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["speed"]

ONE_STEP = """\
import couler

with couler.Workflow("one"):
    couler.run_container("alpine:3.20", ["echo", "hello"], step_name="one")
"""

COUNT_MODULES = "import sys; print(len(sys.modules))"

COUNT_CALLS = """\
import sys

import couler
from couler import stages
from tests.support.call_counts import calls


def compile(engine):
    with couler.Workflow("many") as workflow:
        made = []
        for index in range(100):
            word = f"message {index}"
            step = couler.run_container("alpine:3.20", ["echo", word], step_name=f"step-{index}")
            if index >= 10:
                made[index - 10] >> step
            made.append(step)
    stages.compile(workflow, engine).to_text()


compile(sys.argv[1])  # loads what it needs
print(calls(compile, sys.argv[1]))
"""

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(
        sys.version_info[:2] != (3, 11), reason="the counts are those of Python 3.11"
    ),
]


def printed(code: str, *words: str) -> int:
    """Return the number that a program prints last, in an interpreter of its own."""
    ours = {name: text for name, text in os.environ.items() if name[:4] not in ("COV_", "PYTH")}
    done = subprocess.run(
        (sys.executable, "-c", code, *words),
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=ours | {"PYTHONHASHSEED": "0"},
    )
    return int(done.stdout.split()[-1])


def compiling(program: Path) -> str:
    """Return a program that runs `couler compile` and prints how many modules are loaded."""
    return f"""\
import contextlib, sys
from couler.cli import main
sys.argv = ["couler", "compile", {str(program)!r}, "-e", "argo", "-o", {os.devnull!r}]
with contextlib.suppress(SystemExit):
    main()
{COUNT_MODULES}
"""


def within(name: str, actual: int) -> None:
    """Compare a count with its limit."""
    limit = LIMITS[name]
    assert actual <= limit, (
        f"{name}: {actual:,}, limit {limit:,}. Import later or call less; where less is done now, "
        "lower the limit in tests/measure/budget.toml"
    )


def test_modules_of_compiling_one_step(tmp_path: Path) -> None:
    program = tmp_path / "one.py"
    program.write_text(ONE_STEP)
    within("modules_compile", printed(compiling(program)))


@pytest.mark.parametrize("module", ["couler", "couler.ir.workflow"])
def test_modules_of_an_import(module: str) -> None:
    within(f"modules_{module}", printed(f"import {module}; {COUNT_MODULES}"))


@pytest.mark.parametrize("engine", ["argo", "airflow"])
def test_calls_of_compiling_a_hundred_steps(engine: str) -> None:
    within(f"calls_{engine}", printed(COUNT_CALLS, engine))
