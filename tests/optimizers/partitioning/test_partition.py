"""Each node in one part, parts within the budget and never in a circle, whatever the graph."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from couler.errors import BudgetError
from couler.optimizers.partitioning.measure import is_acyclic, loads, makespan
from couler.optimizers.partitioning.methods import METHODS, partition
from couler.optimizers.partitioning.model import Partition, TaskGraph
from tests.support.task_graphs import budgets, graph_of, graphs, overheads

methods = pytest.mark.parametrize("method", METHODS)


@methods
@given(graph=graphs(), budget=budgets, part=overheads, cut=overheads)
def test_a_partition_keeps_its_promises(
    method: str,
    graph: TaskGraph,
    budget: dict[str, int],
    part: dict[str, int],
    cut: dict[str, int],
) -> None:
    found, named = None, set(graph.names)
    try:
        found = partition(graph, budget, method, part_overhead=part, cut_overhead=cut)
    except BudgetError as error:
        named = set(error.nodes)
    assert named
    assert named <= set(graph.names)
    if found is None:
        return
    assert len(found.part_of) == len(graph.names)
    assert set(found.part_of) == set(range(found.count))
    for node, befores in enumerate(graph.predecessors):
        assert all(found.part_of[before] <= found.part_of[node] for before in befores)
    assert is_acyclic(graph, found)
    for nodes in graph.together:
        assert len({found.part_of[node] for node in nodes}) <= 1
    costs = loads(graph, found, part_overhead=part, cut_overhead=cut)
    for name, limit in budget.items():
        assert max(costs[name]) <= limit
    again = partition(graph, budget, method, part_overhead=part, cut_overhead=cut)
    assert again == found


@given(graph=graphs(has_sets=False), budget=budgets, slack=st.sampled_from([0.0, 0.02, 0.1, 0.5]))
def test_bands_delay_a_run_by_no_more_than_the_slack(
    graph: TaskGraph, budget: dict[str, int], slack: float
) -> None:
    found = partition(graph, budget, slack=slack)
    alone = makespan(graph, Partition((0,) * len(graph.names), 1))
    assert makespan(graph, found) <= alone * (1 + slack) * (1 + 1e-9)


@methods
@given(graph=graphs(has_sets=False), budget=budgets)
@pytest.mark.slow
def test_a_part_fits_into_one_part(method: str, graph: TaskGraph, budget: dict[str, int]) -> None:
    try:
        found = partition(graph, budget, method)
    except BudgetError:
        return
    for nodes in found.parts:
        new = {node: index for index, node in enumerate(nodes)}
        part = TaskGraph(
            tuple(graph.names[node] for node in nodes),
            tuple(
                tuple(new[one] for one in graph.predecessors[node] if one in new) for node in nodes
            ),
            {name: tuple(cost[node] for node in nodes) for name, cost in graph.costs.items()},
            tuple(graph.seconds[node] for node in nodes),
        )
        assert partition(part, budget, method).count == 1


@methods
def test_nothing_makes_no_part(method: str) -> None:
    empty = TaskGraph((), (), {"steps": ()}, ())
    assert partition(empty, {"steps": 1}, method) == Partition((), 0)


def test_a_node_over_the_budget_is_named() -> None:
    graph = graph_of((), (0,), costs={"bytes": (10, 3000)})
    with pytest.raises(BudgetError, match=r"'n1': 3,000 bytes are over the budget of 2,000") as bad:
        partition(graph, {"bytes": 2000})
    assert bad.value.nodes == ("n1",)


def test_more_parts_than_allowed_are_refused() -> None:
    graph = graph_of((), (), (), ())
    assert partition(graph, {"steps": 2}, most_parts=2).count == 2
    with pytest.raises(BudgetError, match="needs 4 parts; at most 3"):
        partition(graph, {"steps": 1}, most_parts=3)


@pytest.mark.parametrize("method", ["bands", "levels", "order"])
def test_cut_overheads_count_once_for_a_value_and_a_part(method: str) -> None:
    # n0 is read by all others: 9 + 5 for giving it, and each other part 5 for reading it.
    graph = graph_of((), *[(0,)] * 6, costs={"bytes": (9, 4, 4, 4, 4, 4, 4)})
    cut = {"bytes": 5}
    found = partition(graph, {"bytes": 14}, method, cut_overhead=cut)
    costs = loads(graph, found, cut_overhead=cut)["bytes"]
    assert costs[found.part_of[0]] == 14
    assert sorted(costs) == sorted(
        [14] + [4 * len(nodes) + 5 for nodes in found.parts if nodes != (0,)]
    )
    with pytest.raises(BudgetError, match=r"'n0': with what it reads .* 14 bytes are over .* 13"):
        partition(graph, {"bytes": 13}, method, cut_overhead=cut)
