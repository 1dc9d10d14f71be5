"""The benchmark of DAG files compares two files of one DAG."""

from __future__ import annotations

import ast
import types
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "airflow_scale.py"


def statements(source: str) -> Counter[str]:
    """Count the statements of the DAG's block, as code."""
    [block] = [one for one in ast.parse(source).body if isinstance(one, ast.With)]
    return Counter(map(ast.unparse, block.body))


def test_both_files_have_the_same_tasks_and_edges(benchmark: types.ModuleType) -> None:
    steps = 2 * benchmark.WIDTH + 10
    compiled = statements(benchmark.compiled(steps))
    assert compiled == statements(benchmark.written(steps))
    edges = [line for line in compiled.elements() if ">>" in line]
    assert len(edges) == steps - benchmark.WIDTH + 1  # the last of the first layer waits as well
    assert dict(benchmark.shape(steps)) == {"tasks": steps, "edges": _count(edges)}


def _count(edges: list[str]) -> int:
    return sum(edge.partition(" >> ")[0].count("step_") for edge in edges)
