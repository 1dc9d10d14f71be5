"""Lines and bytes of what is emitted for README's program and the example of model selection."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from couler.cli import app
from tests.measure.size import BUDGET, ROOT

README_PROGRAM = re.compile(r"<!-- file: choose\.py[^\n]*-->\n```python\n(.*?)```", re.DOTALL)
EXAMPLE = ROOT / "examples/model_selection/model_selection.py"


@pytest.mark.checkout
@pytest.mark.parametrize("engine", ["argo", "airflow"])
@pytest.mark.parametrize("program", ["readme", "model_selection"])
def test_emitted_files_are_as_large_as_their_budget(
    tmp_path: Path, program: str, engine: str
) -> None:
    source = EXAMPLE
    if program == "readme":
        source = tmp_path / "choose.py"
        found = README_PROGRAM.search((ROOT / "README.md").read_text(encoding="utf-8"))
        assert found is not None
        source.write_text(found[1], encoding="utf-8")
    emitted = tmp_path / "emitted"
    arguments = ["compile", str(source), "-e", engine, "-o", str(emitted)]
    if engine == "airflow":
        arguments += ["--option", "files_claim=files"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = emitted.read_text(encoding="utf-8")
    size = {"lines": text.count("\n"), "bytes": len(text.encode())}
    allowed = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["emitted"][program][engine]
    assert size == allowed, "more needs a decision page; less is written to the budget"
