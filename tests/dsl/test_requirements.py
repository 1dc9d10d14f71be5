"""Packages of steps from files, and the packages and caches that a workflow gives to all steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.workflow import Container, Script
from couler.stages.programs import Loaded, load_program

FILES = {
    "requirements.txt": "# of the project\nnumpy >=2  # arrays\n\n-r more.txt\n",
    "more.txt": 'pandas==2.2.0 \\\n  --hash=sha256:0 --hash=sha256:1\nxx ; python_version < "3"\n',
    "pyproject.toml": '[project]\nname = "p"\ndependencies = ["numpy>=2", "pandas"]\n',
    "uv.lock": (
        '[[package]]\nname = "p"\nversion = "0"\nsource = { editable = "." }\n'
        '[[package]]\nname = "numpy"\nversion = "2.1"\nsource = { registry = "x" }\n'
    ),
    "pylock.toml": '[[packages]]\nname = "numpy"\nversion = "2.2"\n',
    "empty.toml": "[tool.x]\ny = 1\n",
    "options.txt": "--index-url x\n",
}


def loaded(folder: Path, packages: object, defaults: str = "") -> Loaded:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "flow.py").write_text(
        f"""
import couler

@couler.step(packages={packages!r}, cache=False)
def typed() -> int:
    return 1

with couler.Workflow("w", defaults=couler.StepDefaults({defaults})):
    typed()
    couler.run_script(source="1", step_name="script")
    couler.run_container("busybox", ["true"], step_name="container")
"""
    )
    return load_program(str(folder / "flow.py"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("requirements.txt", ("numpy >=2", "pandas==2.2.0", 'xx ; python_version < "3"')),
        ("pyproject.toml", ("numpy>=2", "pandas")),
        ("uv.lock", ("numpy==2.1",)),
        ("pylock.toml", ("numpy==2.2",)),
        (["requests", "pylock.toml"], ("requests", "numpy==2.2")),
    ],
)
def test_packages_of_files(given: object, expected: tuple[str, ...], tmp_path: Path) -> None:
    program = loaded(tmp_path, given)
    assert program.diagnostics == ()
    action = program.workflow.steps[0].action
    assert isinstance(action, Script)
    assert action.packages == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("none.txt", "none.txt: No such file"),
        ("empty.toml", "empty.toml: it states no packages"),
        ("options.txt", "options.txt: pip's option --index-url is not taken here"),
    ],
)
def test_files_that_state_none(given: str, told: str, tmp_path: Path) -> None:
    [problem] = loaded(tmp_path, given).diagnostics
    assert (problem.code, told in problem.message) == ("CLR105", True)


def test_packages_and_caches_for_all_steps(tmp_path: Path) -> None:
    program = loaded(tmp_path, None, 'packages="pylock.toml", cache="1h"')
    assert program.diagnostics == ()
    packages = [getattr(one.action, "packages", ()) for one in program.workflow.steps]
    assert packages == [("numpy==2.2",), ("numpy==2.2",), ()]
    caches = [one.cache and one.cache.max_age_s for one in program.workflow.steps]
    assert caches == [None, 3600, 3600]
    assert isinstance(program.workflow.steps[2].action, Container)
