"""The benchmark of grouping draws, measures and runs what it says."""

from __future__ import annotations

import importlib
import random
import typing as t
from pathlib import Path

import pytest

from couler.optimizers.grouping.methods import group_operators

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[3] / "benchmarks"


class Modules(t.NamedTuple):
    grouping: t.Any
    pipelines: t.Any
    fibonacci_runs: t.Any


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("grouping", "workloads.pipelines", "workloads.fibonacci_runs")
    return Modules(*map(importlib.import_module, names))


def test_pipelines_are_those_of_the_paper(modules: Modules) -> None:
    line = modules.pipelines.paper("line", 4, 2, random.Random(1))
    parallel = modules.pipelines.paper("parallel", 3, 4, random.Random(1))
    for problem, special, edges in ((line, 4, 13), (parallel, 3, 15)):
        assert len(problem.operators) == 14
        assert len(problem.edges) == edges
        assert all("golang" in one.tags for one in (*problem.operators, *problem.images))
        tags = [tag for one in problem.operators for tag in one.tags - {"golang"}]
        assert (len(tags), len(set(tags))) == (special, 3)
        assert len(problem.images) == 4
    assert modules.pipelines.numbers("line", 2) == [5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27]
    assert modules.pipelines.numbers("parallel", 4) == [5, 9, 13, 17] * 3
    # F(5) = 5, at 5 ns.
    assert line.operators[1].seconds == pytest.approx(25e-9)


def test_layers_have_as_many_operators_as_asked(modules: Modules) -> None:
    one, same = (modules.pipelines.layered(57, random.Random(5)) for _ in range(2))
    assert len(one.operators) == 57
    assert one == same


def test_rows_tell_circles_and_violations(modules: Modules) -> None:
    problem = modules.pipelines.as_batch(modules.pipelines.paper("line", 3, 2, random.Random(2)))
    methods = modules.grouping.methods("batch", 14)
    some = {name: methods[name] for name in ("none", "contraction", "milp", "one group")}
    rows = modules.grouping.measure(problem, some, "line", 0, 3, 2)
    assert [row.method for row in rows] == list(some)
    assert modules.grouping.wrongs(rows) == []
    assert all(row.is_acyclic for row in rows)

    rows = modules.grouping.measure(problem, {"milp": methods["milp"]}, "line", 0)
    circle = modules.grouping.dataclasses.replace(rows[0], is_acyclic=False, violations=1, cost=1.0)
    assert len(modules.grouping.wrongs([circle])) == 3


def test_groups_run_as_processes(modules: Modules) -> None:
    problem = modules.pipelines.as_batch(
        modules.pipelines.paper("parallel", 2, 2, random.Random(3))
    )
    grouping = group_operators(problem, "contraction").grouping
    seconds, value = modules.fibonacci_runs.run(problem, grouping, 3, 2)
    assert seconds > 0
    # Four operators in each line, each of which adds 2.
    assert value == 3 + 4 * 2
