"""The benchmark of real steps under a budget runs what it says."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "caching_real.py"


def test_each_run_changes_one_or_two_parameters(benchmark: types.ModuleType) -> None:
    course = benchmark.courses(10, 1)
    assert course == benchmark.courses(10, 1) != benchmark.courses(10, 2)
    for before, after in itertools.pairwise(course):
        changed = [name for name in before if before[name] != after[name]]
        assert 1 <= len(changed) <= 2
        assert all(after[name] in benchmark.OTHERS[name][1] for name in changed)


def test_a_seed_stands_for_the_same_parameters_in_each_process() -> None:
    """Sets of texts have another order in each, unless it is told which."""
    show = "import runpy, sys; print(runpy.run_path(sys.argv[1])['courses'](10, 1))"
    drawn = {
        subprocess.run(
            [sys.executable, "-c", show, str(FILE)],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(FILE.parents[1]), "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(drawn) == 1


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_quick_one_measures_all_figures(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    words = ["--rows", "500", "--runs", "2", "--policy", "lru", "--json", str(out)]
    root = FILE.parents[1]
    environ = {**os.environ, "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, str(FILE), *words], check=True, env=environ, cwd=tmp_path)
    told = json.loads(out.read_text())
    [figures] = told["policies"]
    assert figures["hits"] + figures["passed"] + figures["misses"] == 16
    assert figures["entries_bytes"] <= told["budget_bytes"]
    assert figures["disk_bytes"] <= told["budget_bytes"] + 10_000
