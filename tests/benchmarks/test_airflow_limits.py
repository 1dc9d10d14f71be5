"""The benchmark of large DAGs measures the DAGs that it names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tests.support import airflow_runs

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "airflow_limits.py"


@pytest.mark.parametrize("weights", ["absolute", "downstream"])
def test_the_files_have_the_shapes_that_are_named(
    benchmark: types.ModuleType, weights: str
) -> None:
    steps = 2 * benchmark.WIDTH + 10
    flat = benchmark.compiled("flat", steps, weights)
    layered = benchmark.compiled("layered", steps, weights)
    for text in (flat, layered):
        assert text.count("KubernetesPodOperator(") == steps
        assert f'"weight_rule": "{weights}"' in text
    assert " >> " not in flat
    edges = [line.partition(" >> ")[0] for line in layered.splitlines() if " >> " in line]
    assert len(edges) == steps - benchmark.WIDTH
    last_of_layer = 1  # it has one task to wait for, as the next layer begins behind it
    assert sum(edge.count("step_") for edge in edges) == 2 * len(edges) - last_of_layer


@pytest.mark.airflow
@pytest.mark.timeout(1800)
def test_all_figures_are_measured(benchmark: types.ModuleType, tmp_path: Path) -> None:
    if reason := airflow_runs.obstacle():
        pytest.skip(reason)
    out = tmp_path / "rows.json"
    done = subprocess.run(
        [sys.executable, str(FILE), "--sizes", "120", "--json", str(out)],
        env={**os.environ, "COULER_AIRFLOW": str(airflow_runs.python().parents[2])},
        check=True,
        capture_output=True,
        text=True,
    )
    rows = json.loads(out.read_text())
    assert [(row["shape"], row["weights"]) for row in rows] == [
        ("flat", "absolute"),
        ("layered", "absolute"),
        ("layered", "downstream"),
    ]
    assert all(row[name] > 0 for row in rows for name in benchmark.FIGURES)
    assert len(done.stdout.splitlines()) == 1 + len(rows)
