"""The benchmark of decisions measures all policies, and judges what it measures."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import types
from pathlib import Path

import pytest

from couler.caching.registry import policy_names, read_policy

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "cache_decisions.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("cache_decisions", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cache_decisions", module)  # where typing looks for names
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_all_policies_are_measured_and_ask_for_few_worths(
    benchmark: types.ModuleType, tmp_path: Path
) -> None:
    # A process of its own: it collects garbage again and again, which takes long beside much else.
    done = subprocess.run(
        [sys.executable, str(FILE), "--quick", "--json", str(tmp_path / "rows.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode in (0, 1), done.stderr) == (True, "")  # 1: machines are noisy
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["policy"] for row in rows} == {*policy_names(), *benchmark.FLOORS}
    assert {row["shape"] for row in rows} == set(benchmark.SHAPES)
    assert "a decision at 100 over one at 20" in done.stdout
    for row in rows:
        assert row["microseconds"] > 0
        assert (row["kept"] == 0) == (row["policy"] == "none")
        if row["policy"] in ("lru", "fifo", "lrc", "gdsf"):
            assert row["evicted"] > 0.5  # the cache is full
            assert row["kept"] > row["fits"] / 2


@pytest.mark.parametrize("shape", ["recent", "fans", "hub", "wide"])
@pytest.mark.parametrize("name", sorted(set(policy_names()) - {"none"}))
@pytest.mark.slow
def test_a_decision_asks_for_few_worths(
    benchmark: types.ModuleType, monkeypatch: pytest.MonkeyPatch, shape: str, name: str
) -> None:
    """Sizes differ: something goes for newcomers that are refused, and some of it need not go."""
    # Worths are counted and no time is taken; a process of tests has much that would be looked at.
    monkeypatch.setattr(benchmark, "gc", types.SimpleNamespace(collect=lambda: 0))
    assert set(benchmark.SHAPES) == {"recent", "fans", "hub", "wide"}
    is_known = (shape, name) in benchmark.KNOWN
    few, many = (
        benchmark.of_policy(name, [benchmark.graph_of(shape, fits, 1)], fits, shape).asked
        for fits in ((20, 200) if is_known else (60, 600))
    )
    assert few >= 1
    is_few = many <= benchmark.WORTHS_SLACK * few * math.log(600) / math.log(60)
    assert is_few is not is_known


def test_what_is_missed_in_a_wide_run_is_made_again_once(benchmark: types.ModuleType) -> None:
    graph = benchmark.graph_of("wide", 2, 1)
    # One job splits, two read what it makes, the next two that and one of these, the last all.
    assert graph.inputs == ((), (0,), (0,), (0, 1), (0, 2), (0, 1, 2, 3, 4))
    cache = benchmark.BudgetedCache(0, read_policy("lru"), benchmark.RunKnowledge(graph))
    assert sorted(benchmark.read(graph, cache, 3, is_made_again=True)) == [0, 1]
    assert sorted(benchmark.read(graph, cache, 5, is_made_again=True)) == [0, 1, 2, 3, 4]
    assert benchmark.read(graph, cache, 5, is_made_again=False) == []


def row(benchmark: types.ModuleType, fits: int, policy: str, **figures: float) -> object:
    return benchmark.Row("only", fits, policy, fits, **figures, evicted=1, prepare_microseconds=1)


@pytest.mark.parametrize(
    ("asked", "microseconds", "is_kept"),
    [
        (16.0, 60.0, True),  # log 10,000 is twice log 100, with slacks of 2 and 3
        (16.1, 10.0, False),
        (4.0, 60.1, False),
    ],
)
def test_growth_beyond_the_logarithm_is_told(
    benchmark: types.ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked: float,
    microseconds: float,
    is_kept: bool,
) -> None:
    monkeypatch.setattr(benchmark, "SHAPES", {"only": benchmark.recent})
    monkeypatch.setattr(benchmark, "policy_names", lambda: ("lru",))
    rows = [
        row(benchmark, fits, name, asked=0, microseconds=1)
        for fits in (100, 10_000)
        for name in benchmark.FLOORS
    ]
    rows.append(row(benchmark, 100, "lru", asked=4.0, microseconds=10.0))
    rows.append(row(benchmark, 10_000, "lru", asked=asked, microseconds=microseconds))
    assert benchmark.verdicts(rows) is is_kept
    monkeypatch.setattr(benchmark, "KNOWN", {("only", "lru"): "it is so"})
    assert benchmark.verdicts(rows)
    assert ("known: it is so" in capsys.readouterr().out) is not is_kept
