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


@pytest.fixture
def one_workflow(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    """The goals are those of a mean over many workflows; those of the one here are its own."""
    for goal in ("SHARE_GOAL", "TIMED_SHARE_GOAL"):
        monkeypatch.setattr(modules.caching, goal, 0.95)


@pytest.mark.usefixtures("one_workflow")
def test_all_policies_are_measured_alike(
    modules: Modules, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.json"
    files = ("--data", str(WORKFLOWS), "--json", str(out), "--plots", str(tmp_path))
    modules.caching.main([*QUICK, *files, "--seed", "4", "--markdown"])
    printed = capsys.readouterr().out
    assert printed.count("  ok\n") == 6
    assert "MISSED" not in printed
    for name in ("policies", "usage"):
        drawn = (tmp_path / f"image-segmentation-{name}.svg").read_text()
        assert drawn.startswith("<?xml")
        assert "<dc:date>" not in drawn
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
    assert {line.count("|") for line in lines} == {14}
    assert lines[2].startswith(
        "| none | 0.0 % | 1.000 | 0.0 % | 1.000 | 0.0 % | 0.0 % | 1 | 0.0 % |"
    )
    lines = staged.splitlines()
    assert len(lines) == 2 + len(caching.DOCUMENTED)
    assert lines[2].startswith(f"| {SCENARIO} | 20 GB | none | 0.0 % | 1.000 | 0.0 % |")


@pytest.mark.usefixtures("one_workflow")
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
        dataclasses.replace(row, share=0.9) if row.policy == "next-use" and row.share else row
        for row in rows
    ]
    assert not modules.caching.verdicts(less)


def test_what_is_left_free_is_chosen_on_half_of_the_applications(
    modules: Modules, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holdout = importlib.import_module("workloads.holdout")
    assert holdout.halves(["b-2", "a-1", "c-1", "b-1"]) == ({"a-1", "c-1"}, {"b-1", "b-2"})
    used = holdout.eviction.LEFT_SHARE
    at = {0.0: (0.1, 0.2), 0.25: (0.9, 0.3), 0.5: (0.9, 0.6), 0.75: (0.8, 0.9), 1.0: (0.7, 0.8)}
    tried = [
        holdout.Tried(name, "5%", left, share)
        for left, shares in at.items()
        for name, share in zip(("a-1", "b-1"), shares, strict=True)
    ]
    means, chosen = holdout.choose(tried)
    assert means == at
    assert chosen == [(0.5, 0.9, 0.6, 0.9), (0.75, 0.9, 0.8, 0.9)]
    assert holdout.choose(tried[::2]) == ({}, [])

    given = next(WORKFLOWS.glob("*.json")).read_bytes()
    for name in ("first-1", "second-1"):
        (tmp_path / f"{name}.json").write_bytes(given)
    out = tmp_path / "tried.out"
    modules.caching.main(
        ["--left-shares", "--jobs", "1", "--data", str(tmp_path), "--json", str(out)]
    )
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 + len(holdout.LEFT_SHARES) + 2
    assert printed[-1].startswith("chosen on the second half: ")
    found = json.loads(out.read_text())["tried"]
    assert len(found) == 2 * 3 * len(holdout.LEFT_SHARES)
    assert all(0 < one["share"] <= 1 + 1e-9 for one in found)
    assert used == holdout.eviction.LEFT_SHARE


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
    for wrong in (["--jobs", "0"], ["--plots", str(tmp_path / "none")]):
        with pytest.raises(SystemExit):
            modules.caching.main(wrong)


def test_wrong_times_are_drawn_from_the_seed(modules: Modules) -> None:
    _, graph = next(modules.wfformat.artifact_instances(WORKFLOWS))
    told = modules.runs.wrong_seconds(graph, "1 counts")
    assert told == modules.runs.wrong_seconds(graph, "1 counts")
    assert told != modules.runs.wrong_seconds(graph, "2 counts")
    assert len(told) == len(graph.jobs)


def test_large_workflows_are_left_to_policies_that_decide_quickly(
    modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules.runs, "LARGE", 13)
    _, graph = next(modules.wfformat.artifact_instances(WORKFLOWS))
    policies = modules.runs.contenders()
    rows, _ = modules.runs.measure_real("counts", graph, policies, 1, 0.0)
    assert {one.name for one in policies} - {row.policy for row in rows} == set(modules.runs.SLOW)
    rows, _ = modules.runs.measure_real("counts", graph, policies, 1, 0.0, True)
    assert {one.name for one in policies} == {row.policy for row in rows}


def test_of_large_workflows_the_best_cache_is_not_looked_for(
    modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules.runs, "SMALL", 13)
    monkeypatch.setattr(modules.caching, "SMALL", 13)
    _, graph = next(modules.wfformat.artifact_instances(WORKFLOWS))
    assert len(graph.jobs) == 14
    policies = modules.runs.contenders()
    rows, limits = modules.runs.measure_real("counts", graph, policies, 1, 1.0)
    assert len(rows) == 3 * len(policies)
    assert {row.time for row in rows} == {None}
    assert {limit.integral_s for limit in limits} == {None}
    lines = modules.caching.real_lines(rows)
    assert {line[1:5] for line in lines} == {("-",) * 4}
    monkeypatch.setattr(modules.runs, "SMALL", 14)
    _, limits = modules.runs.measure_real("counts", graph, policies, 1, 10.0)
    for limit in limits:
        assert 0 < limit.integral_s <= limit.linear_s * (1 + 1e-6)


def test_uses_are_drawn_as_means_over_windows(modules: Modules) -> None:
    plots = importlib.import_module("workloads.caching_plots")
    # 2 for 5 s and 4 for 5 s; then nothing until 24, in two windows of 12 s.
    assert plots.means([(0, 2), (5, 4), (10, 0)], 24, 10) == ([6, 18, 24], [2.5, 0, 0])
    # One step from 5 to 25: half of the first window, all of the second, half of the last.
    assert plots.means([(5, 1), (25, 0)], 30, 10) == ([5, 15, 25, 30], [0.5, 1, 0.5, 0])
    assert plots.means([], 0, 10) == ([0, 0], [0, 0])
