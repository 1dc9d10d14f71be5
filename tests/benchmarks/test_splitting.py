"""The benchmark of splitting reads, simulates and compares as it says."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import itertools
import json
import random
import types
import typing as t
from pathlib import Path

import pytest

from couler.optimizers.partitioning.measure import is_acyclic, makespan
from couler.optimizers.partitioning.methods import partition
from couler.optimizers.partitioning.model import Partition
from tests.support import simulation
from tests.support.task_graphs import graph_of

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
WORKFLOWS = Path(__file__).with_name("workflows")


class Modules(t.NamedTuple):
    splitting: t.Any
    graphs: t.Any
    wfformat: t.Any


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("splitting", "workloads.graphs", "workloads.wfformat")
    found: list[types.ModuleType] = [importlib.import_module(name) for name in names]
    return Modules(*found)


def test_graphs_have_the_steps_asked_for_and_follow_the_seed(modules: Modules) -> None:
    for shape, make in modules.graphs.SHAPES.items():
        graph = make(123, random.Random(5))
        assert len(graph.names) == 123, shape
        assert graph == make(123, random.Random(5)), shape
        # Program order is topological: no step waits for a later one.
        assert all(
            before < node for node, befores in enumerate(graph.predecessors) for before in befores
        ), shape


@pytest.mark.parametrize("is_packed", [False, True])
def test_wfformat_is_read_plain_and_packed(
    modules: Modules, tmp_path: Path, is_packed: bool
) -> None:
    raw = (WORKFLOWS / "counts.json").read_bytes()
    if is_packed:
        (tmp_path / "counts.json.gz").write_bytes(gzip.compress(raw))
    else:
        (tmp_path / "counts.json").write_bytes(raw)
    ((name, graph),) = modules.wfformat.instances(tmp_path)
    assert name == "counts"
    assert len(graph.names) == 14
    number = {name: index for index, name in enumerate(graph.names)}
    # The last edge stands among the children of its parent only.
    assert graph.predecessors[number["plot_1"]] == (number["merge_1"],)
    assert graph.predecessors[number["merge_1"]] == tuple(number[f"count_{k}"] for k in range(1, 5))
    assert graph.seconds[number["merge_1"]] == 3.5
    task = json.loads(raw)["workflow"]["specification"]
    sizes = {file["id"]: file["sizeInBytes"] for file in task["files"]}
    # Only what the one writes and the other reads travels: not the log.
    edge = (number["clean_2"], number["count_2"])
    assert graph.edge_bytes[edge] == sizes["clean_2.fq"]
    assert not list(modules.wfformat.instances(tmp_path, least=15))


@pytest.mark.parametrize("text", ["{", "[]", '{"workflow": {}}', "null"])
def test_what_is_no_wfformat_is_named(modules: Modules, tmp_path: Path, text: str) -> None:
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(ValueError, match=r"some\.json: no workflow in WfFormat"):
        list(modules.wfformat.instances(tmp_path))


def test_the_paper_makes_a_circle_of_a_diamond(modules: Modules) -> None:
    diamond = graph_of((), (0,), (0,), (1, 2))
    found = modules.splitting.paper_partition(diamond, {"steps": 3})
    assert found == Partition((0, 0, 1, 0), 2)
    assert not is_acyclic(diamond, found)
    with pytest.raises(ValueError, match="in a circle"):
        makespan(diamond, found)


def test_all_methods_are_measured_alike(
    modules: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: t.Any
) -> None:
    splitting = modules.splitting
    monkeypatch.setattr(splitting, "REAL_BUDGET", {"steps": 5})
    monkeypatch.setattr(splitting, "RANDOM_BUDGET", {"steps": 20})
    monkeypatch.setattr(splitting, "QUICK", (40, 80))
    monkeypatch.setattr(splitting, "DRAWS", 3)
    monkeypatch.setattr(
        splitting, "GROWTH_LIMIT", float("inf")
    )  # times of graphs as small as these
    out = tmp_path / "rows.json"
    splitting.main(["--quick", "--data", str(WORKFLOWS), "--json", str(out), "--seed", "4"])
    printed = capsys.readouterr().out
    assert printed.count("  ok\n") == 5
    assert "OVER" not in printed
    document = json.loads(out.read_text())
    assert document["seed"] == 4
    rows = document["rows"]
    assert len(rows) == 4 * (1 + (3 + 1) * len(modules.graphs.SHAPES))
    real = {row["method"]: row for row in rows if row["family"] == "real"}
    assert set(real) == {"bands", "levels", "order", "dfs"}
    assert {row["name"] for row in real.values()} == {"counts"}
    assert all(row["steps"] == 14 and row["edges"] == 13 for row in real.values())
    assert real["bands"]["emitted"] <= 1.1
    assert real["bands"]["least_parts"] == 3
    for row in rows:
        assert row["has_circle"] == (row["emitted"] is None)
        assert row["has_circle"] <= (row["method"] == "dfs")
        assert row["parts"] >= row["least_parts"]
        assert row["gates"] == pytest.approx(1.0)
    assert any(row["has_circle"] for row in rows)


def test_a_limit_that_is_not_kept_fails(modules: Modules, capsys: t.Any) -> None:
    splitting = modules.splitting
    graph = modules.graphs.chains(200, random.Random(1))
    rows = list(splitting.measure("random", "chains", graph, {"steps": 30}))
    assert splitting.verdicts(rows)
    rows[0] = dataclasses.replace(rows[0], emitted=1.2)
    assert not splitting.verdicts(rows)
    assert "OVER" in capsys.readouterr().out


def test_markdown_is_the_table_of_the_decision(
    modules: Modules, monkeypatch: pytest.MonkeyPatch, capsys: t.Any
) -> None:
    splitting = modules.splitting
    monkeypatch.setattr(splitting, "REAL_BUDGET", {"steps": 5})
    monkeypatch.setattr(splitting, "RANDOM_BUDGET", {"steps": 20})
    monkeypatch.setattr(splitting, "QUICK", (40, 60))
    monkeypatch.setattr(splitting, "DRAWS", 1)
    monkeypatch.setattr(splitting, "GROWTH_LIMIT", float("inf"))
    splitting.main(["--quick", "--data", str(WORKFLOWS), "--markdown"])
    printed = capsys.readouterr().out
    table = printed[printed.index("| graph |") :].splitlines()
    decision = (ROOT.parent / "docs/decisions/0019-splitting.md").read_text()
    assert table[0] in decision.splitlines()
    assert {row.count("|") for row in table} == {11}
    # All methods of the real and the layered ones, one of the six other shapes.
    assert len(table) == 2 + 4 * 3 + 6
    assert table[2].startswith("| 1 real | `bands` | 5.0 | 3.0 | ")
    assert table[5].startswith("| | `dfs` | ")
    assert table[6].startswith("| chain, 60 steps | `bands` | 3.0 | 3.0 | ")
    assert table[7].startswith("| chains, 60 steps | `bands` | ")


def test_what_is_no_wfformat_ends_the_benchmark(modules: Modules, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(SystemExit, match=r"bad\.json: no workflow in WfFormat"):
        modules.splitting.main(["--quick", "--data", str(tmp_path)])


def test_without_instances_the_benchmark_says_so(
    modules: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: t.Any
) -> None:
    missing = tmp_path / "none"
    monkeypatch.setattr(modules.wfformat, "SHARED", missing)
    monkeypatch.setattr(modules.splitting, "QUICK", (30, 60))
    monkeypatch.setattr(modules.splitting, "DRAWS", 1)
    monkeypatch.setattr(modules.splitting, "GROWTH_LIMIT", float("inf"))
    modules.splitting.main(["--quick"])
    assert f"in {missing}: left out" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        modules.splitting.main(["--quick", "--data", str(tmp_path / "typo")])
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.nightly)])
def test_real_instances_are_cut_without_circles_and_with_little_loss(
    modules: Modules, every: int
) -> None:
    if not modules.wfformat.SHARED.is_dir():
        pytest.skip("the shared instances are not beside this checkout")
    ratios = []
    instances = modules.wfformat.instances(modules.wfformat.SHARED, least=51)
    for _, graph in itertools.islice(instances, 0, None, every):
        found = partition(graph, {"steps": 50})
        assert is_acyclic(graph, found)
        ratios.append(simulation.barriers(graph, found.part_of) / simulation.gates(graph))
    assert max(ratios) <= 1.1 + 1e-9
    assert sum(ratios) / len(ratios) <= 1.02
