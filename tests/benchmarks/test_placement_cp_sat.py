"""The yardstick for small workloads, where its solver is installed."""

from __future__ import annotations

import importlib.util
import typing as t
from pathlib import Path

import pytest

from couler.cluster.model import Cluster, ClusterNode
from couler.errors import ConfigurationError
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.upward_rank import UpwardRank
from couler.optimizers.placement.strategy import ClusterState, Rules

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
IS_INSTALLED = importlib.util.find_spec("ortools") is not None
needs_solver = pytest.mark.skipif(
    not IS_INSTALLED, reason="ortools is not installed: pip install 'couler[cp]'"
)

CLUSTER = Cluster((ClusterNode("a", 4, 8, group="slow"), ClusterNode("b", 4, 8, group="fast")))
SPEEDS = Speeds({("", "slow"): 1.0, ("", "fast"): 2.0}, bandwidth_bytes_per_s=1.0)
PIPELINES = [
    Pipeline.chain("p", [Task("one", operations=8), Task("two", operations=4)], moved_bytes=[3]),
    Pipeline("q", (Task("one", operations=6),)),
    Pipeline("r", (Task("one", operations=2),)),
]


@pytest.fixture
def best_plan(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("workloads.placement_cp_sat").best_plan


@pytest.mark.skipif(IS_INSTALLED, reason="ortools is installed")
def test_what_is_missing_is_told(best_plan: t.Any) -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'couler\[cp\]'"):
        best_plan(PIPELINES, ClusterState(CLUSTER, SPEEDS))


@needs_solver
@pytest.mark.parametrize(
    ("rules", "makespan", "waiting"),
    [
        # On b p takes 6 s, r 1 s; on a q takes 6 s, r 2 s: 7 s, and one of them waits. With the
        # short r first on b, p waits for 1 s.
        (Rules(window_s=0, poll_s=0), 7.0, 1 / 3),
        # Starts are at 0, 5, 10 s: r waits for q or p until 10 s, or one of them for r until 5 s.
        (Rules(window_s=0, poll_s=5), 11.0, 5 / 3),
    ],
)
def test_pipelines_as_wholes(
    best_plan: t.Any, rules: Rules, makespan: float, waiting: float
) -> None:
    state = ClusterState(CLUSTER, SPEEDS, rules)
    found = best_plan(PIPELINES, state)
    assert found.is_optimal
    assert found.value == pytest.approx(makespan)
    assert found.bound == pytest.approx(makespan)
    assert simulate(PIPELINES, CLUSTER, UpwardRank(), SPEEDS, rules).total_s == makespan
    short = best_plan(PIPELINES, state, objective="waiting")
    assert short.value == pytest.approx(waiting)
    report = simulate(PIPELINES, CLUSTER, UpwardRank("waiting"), SPEEDS, rules)
    assert sum(x.waiting_s for x in report.pipelines) == pytest.approx(3 * waiting)


@needs_solver
def test_tasks_by_themselves(best_plan: t.Any) -> None:
    state = ClusterState(CLUSTER, SPEEDS, Rules("tasks", window_s=0, poll_s=0))
    found = best_plan(PIPELINES, state)
    assert (found.value, found.bound) == (7.0, 7.0)
    busy = ClusterState(CLUSTER, SPEEDS, Rules("tasks", window_s=0, poll_s=0), free_s={"b": 4.0})
    # p on b from 4 s to 10 s, q and r on a to 8 s.
    assert best_plan(PIPELINES, busy).value == 10.0
