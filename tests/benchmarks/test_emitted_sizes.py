"""Emitted files are as large as their budget, and the table shows Hera's beside them."""

from __future__ import annotations

import tomllib
import types
from pathlib import Path

import pytest

from tests.measure.size import BUDGET, ROOT

FILE = ROOT / "benchmarks" / "emitted_sizes.py"

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the libraries of the example
]


def test_emitted_files_are_as_large_as_their_budget(
    benchmark: types.ModuleType, tmp_path: Path
) -> None:
    allowed = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["emitted"]
    for program, engine, size in benchmark.emitted(tmp_path):
        assert size._asdict() == allowed[program][engine], (
            f"{program} for {engine}: more needs a decision page; less is written to the budget"
        )


def test_the_table(benchmark: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main() == 0
    shown = capsys.readouterr().out
    assert shown.count("\n") == 10
    assert "| sweep | hera | " in shown
