"""The benchmark of looks at runs sees on both engines what it says there is."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "observing.py"


@pytest.fixture
def benchmark(benchmark: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.setattr(benchmark, "RUNS", 1)
    # What other tests have left is not looked through each time.
    monkeypatch.setattr(
        benchmark, "gc", types.SimpleNamespace(collect=int, disable=int, enable=int)
    )
    return benchmark


@pytest.mark.parametrize("engine", ["argo", "airflow"])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_look_sees_every_instance(
    benchmark: types.ModuleType, engine: str, is_reversed: bool
) -> None:
    figures = benchmark.measure(engine, 220, is_reversed=is_reversed)
    assert sorted(figures) == ["bytes", "collected_s", "floor_s", "look_s"]


def test_a_look_that_misses_something_is_refused(benchmark: types.ModuleType) -> None:
    seen = {("step-0", "succeeded")}
    with pytest.raises(SystemExit, match="instances were not seen"):
        benchmark.check(220, seen)
