"""Programs that were written without Couler become workflows by decorators and a `with` block."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from couler.stages import diagnose
from couler.stages.programs import load_program

pytest.importorskip("sklearn")

pytestmark = pytest.mark.checkout

PROGRAMS = Path(__file__).parents[1] / "programs"
COULER = f"{sysconfig.get_path('scripts')}/couler"
NAMES = ("tumours", "diabetes", "digits")


@pytest.mark.parametrize("name", NAMES)
def test_decorators_and_a_block_are_all_that_is_added(name: str) -> None:
    plain, adopted = (
        (PROGRAMS / folder / f"{name}.py").read_text().splitlines()
        for folder in ("plain", "adopted")
    )
    changes = [one for one in difflib.ndiff(plain, adopted) if one[0] in "+-"]
    block = next(at for at, one in enumerate(changes) if one.startswith("+ with couler.Workflow("))
    before = {one.partition("(")[0].strip() for one in changes[:block]}
    assert before == {"+ import couler", "+ @couler.step", "+"}
    assert all(one.startswith("+     ") or one == "+ " for one in changes[block + 1 :])


@pytest.mark.parametrize("name", NAMES)
def test_the_docs_show_what_is_added(name: str) -> None:
    plain, adopted = (
        (PROGRAMS / folder / f"{name}.py").read_text().splitlines()
        for folder in ("plain", "adopted")
    )
    diff = [*difflib.unified_diff(plain, adopted, n=1, lineterm="")][2:]
    shown = "\n".join("@@" if one.startswith("@@") else one for one in diff)
    page = PROGRAMS.parents[1] / "docs" / "your-own-code.md"
    assert f"```diff\n{shown}\n```" in page.read_text()


@pytest.mark.slow  # a program is loaded as `__main__`, and trains its models
@pytest.mark.parametrize("name", NAMES)
def test_all_engines_take_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_program(str(PROGRAMS / "adopted" / f"{name}.py"))
    found = [*loaded.diagnostics, *diagnose(loaded, ["local", "argo", "airflow"])]
    assert [one for one in found if one.severity == "error" and not one.of_target] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_they_give_what_the_programs_print(name: str, tmp_path: Path) -> None:
    def printed(*command: str | Path) -> str:
        environment = {**os.environ, "COULER_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            [*command],
            cwd=tmp_path,
            env=environment,
            stdout=-1,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    plain = printed(sys.executable, PROGRAMS / "plain" / f"{name}.py")
    output, _, value = printed(COULER, "run", PROGRAMS / "adopted" / f"{name}.py").partition(" = ")
    if output == "report":
        assert Path(value).read_text().strip() == plain
    else:
        assert f"{output}: {value}" == plain.splitlines()[-1]
