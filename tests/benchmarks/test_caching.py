"""The benchmark of caching measures, compares and judges as it says."""

from __future__ import annotations

import dataclasses
import importlib
import json
import typing as t
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
WORKFLOWS = Path(__file__).with_name("workflows")
QUICK = ("--quick", "--jobs", "1")
SCENARIO = "image segmentation"


class Modules(t.NamedTuple):
    caching: t.Any
    runs: t.Any
    scenarios: t.Any
    wfformat: t.Any


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("caching_runs", "scenarios", "wfformat")
    found = [importlib.import_module(f"workloads.{name}") for name in names]
    only = {SCENARIO: found[1].SCENARIOS[SCENARIO]}
    monkeypatch.setattr(found[1], "SCENARIOS", only)
    return Modules(importlib.import_module("caching"), *found)


def test_all_policies_are_measured_alike(
    modules: Modules, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.json"
    modules.caching.main(
        [*QUICK, "--data", str(WORKFLOWS), "--json", str(out), "--seed", "4", "--markdown"]
    )
    printed = capsys.readouterr().out
    assert printed.count("  ok\n") == 6
    assert "MISSED" not in printed
    document = json.loads(out.read_text())
    assert document["seed"] == 4
    rows = document["rows"]
    policies = [one.name for one in modules.runs.contenders()]
    check_tables(modules.caching, printed, policies)
    # One workflow with three caches; one scenario with one, with misses of both kinds.
    assert len(rows) == len(policies) * (3 + 2)
    assert [limit["cache"] for limit in document["limits"]] == ["2%", "5%", "20%"]
    for row in rows:
        assert 0 <= row["hits"] <= 1
        assert row["mean_bytes"] <= row["peak_bytes"] <= row["artifact_bytes"]
        if row["policy"] == "none":
            assert (row["cost"], row["time"], row["hits"], row["peak_bytes"]) == (1, 1, 0, 0)
        if row["policy"] != "all":
            assert row["peak_bytes"] <= row["capacity_bytes"]
        # No cache saves more than there is to be saved, and ALL has no limit to be held to.
        assert row["share"] is None or row["share"] <= 1 + 1e-9
        assert (row["share"] is None) >= (row["policy"] == "all" or row["misses"] == "recompute")
    staged = {(row["misses"], row["policy"]): row for row in rows if row["family"] == "scenario"}
    assert {row["name"] for row in staged.values()} == {SCENARIO}
    for misses in ("reread", "recompute"):
        # Each input is what a step of the run has made.
        assert staged[misses, "all"]["hits"] == 1
        assert staged[misses, "all"]["seconds"] < staged[misses, "next-use"]["seconds"]
        assert staged[misses, "next-use"]["seconds"] < staged[misses, "none"]["seconds"]


def check_tables(caching: t.Any, printed: str, policies: list[str]) -> None:
    real, staged = printed[printed.index("| policy |") :].split("\n\n")[:2]
    lines = real.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in policies]
    assert {line.count("|") for line in lines} == {11}
    assert lines[2].startswith("| none | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 1.000 | 0.0 % | 1.000 |")
    lines = staged.splitlines()
    assert len(lines) == 2 + len(caching.DOCUMENTED)
    assert lines[2].startswith(f"| {SCENARIO} | 20 GB | none | 0.0 % | 1.000 | 0.0 % |")


def test_goals_that_are_missed_are_told_with_the_pairs(
    modules: Modules, capsys: pytest.CaptureFixture[str]
) -> None:
    _, graph = next(modules.wfformat.artifact_instances(WORKFLOWS))
    rows, _ = modules.runs.measure_real("counts", graph, modules.runs.contenders(), 1, 0.0)
    assert modules.caching.verdicts(rows)
    capsys.readouterr()
    cost = {row.cache: row.cost for row in rows if row.policy == "lru"}
    worse = [
        dataclasses.replace(row, cost=cost["5%"] * 1.5)
        if (row.policy, row.cache) == ("next-use", "5%")
        else row
        for row in rows
    ]
    assert not modules.caching.verdicts(worse)
    printed = capsys.readouterr().out
    assert "  reads cost 50.00% more than with LRU: counts, cache of 5%\n" in printed
    assert printed.count("MISSED") == 2
    less = [
        dataclasses.replace(row, share=0.95) if row.policy == "next-use" and row.share else row
        for row in rows
    ]
    assert not modules.caching.verdicts(less)


def test_a_goal_that_is_missed_ends_the_benchmark(
    modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules.scenarios, "SCENARIOS", {})
    monkeypatch.setattr(modules.caching, "SHARE_GOAL", 1.01)
    with pytest.raises(SystemExit, match="some goal is missed"):
        modules.caching.main([*QUICK, "--data", str(WORKFLOWS)])


def test_without_workflows_the_benchmark_says_so(
    modules: Modules,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(modules.scenarios, "SCENARIOS", {})
    modules.caching.main(["--quick", "--data", str(tmp_path)])
    assert f"no real workflows in {tmp_path}: left out" in capsys.readouterr().out
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(SystemExit, match=r"bad\.json: no workflow in WfFormat"):
        modules.caching.main(["--quick", "--data", str(tmp_path)])
    with pytest.raises(SystemExit):
        modules.caching.main(["--quick", "--jobs", "0"])


def test_wrong_times_are_drawn_from_the_seed(modules: Modules) -> None:
    _, graph = next(modules.wfformat.artifact_instances(WORKFLOWS))
    told = modules.runs.wrong_seconds(graph, "1 counts")
    assert told == modules.runs.wrong_seconds(graph, "1 counts")
    assert told != modules.runs.wrong_seconds(graph, "2 counts")
    assert len(told) == len(graph.jobs)
