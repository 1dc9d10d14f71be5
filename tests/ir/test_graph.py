"""The graph of a scope, against networkx."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from couler.ir.graph import Graph
from couler.ir.pods import PodContainer
from couler.ir.storage import EnvVar
from couler.ir.values import StepRef
from couler.ir.workflow import ContainerSet, Step
from tests.support.sample_flows import A, echo
from tests.support.strategies import acyclic_edges, edges

Edges = Mapping[str, tuple[str, ...]]


def oracle(of: Edges) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(of)
    graph.add_edges_from((before, name) for name, befores in of.items() for before in befores)
    return graph


@given(acyclic_edges())
def test_ancestors_roots_and_leaves(of: Edges) -> None:
    graph, expected = Graph(of), oracle(of)
    for name in of:
        assert graph.ancestors(name) == nx.ancestors(expected, name)
    assert set(graph.roots) == {name for name, degree in expected.in_degree() if degree == 0}
    assert set(graph.leaves) == {name for name, degree in expected.out_degree() if degree == 0}


@given(acyclic_edges())
def test_topological_order_has_each_step_once_after_all_it_waits_for(of: Edges) -> None:
    order = Graph(of).topological_order
    assert sorted(order) == sorted(of)
    assert all(order.index(before) < order.index(name) for name in of for before in of[name])


@given(acyclic_edges())
def test_levels_are_topological_generations(of: Edges) -> None:
    expected = [set(level) for level in nx.topological_generations(oracle(of))]
    assert [set(level) for level in Graph(of).levels] == expected


@given(edges())
def test_a_cycle_is_found_if_and_only_if_there_is_one(of: Edges) -> None:
    cycle = Graph(of).find_cycle()
    expected = oracle(of)
    assert (cycle == ()) == nx.is_directed_acyclic_graph(expected)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(expected.has_edge(*pair) for pair in pairwise(cycle))


@given(acyclic_edges(), st.data())
def test_the_critical_path_is_the_longest(of: Edges, data: st.DataObject) -> None:
    seconds = {name: float(data.draw(st.integers(0, 9))) for name in of}
    path, total = Graph(of).critical_path(seconds.__getitem__)
    expected = oracle(of)
    weighted = nx.DiGraph()
    weighted.add_nodes_from(of)
    for before, name in expected.edges:
        weighted.add_edge(before, name, weight=seconds[name])
    for root in of:
        weighted.add_edge("start", root, weight=seconds[root])
    assert total == (nx.dag_longest_path_length(weighted) if of else 0.0)
    assert total == sum(seconds[name] for name in path)
    assert all(expected.has_edge(*pair) for pair in pairwise(path))


def test_program_order_is_kept_where_the_graph_allows() -> None:
    graph = Graph({"c": (), "a": (), "b": ("c",)})
    assert graph.topological_order == ("c", "a", "b")


def test_edges_come_from_dependencies_and_from_what_is_read() -> None:
    graph = Graph.of((echo("a"), echo("x"), echo("b", A, depends_on=("x",))))
    assert graph.predecessors["b"] == ("x", "a")
    assert graph.successors["a"] == ("b",)


def test_asking_for_an_unknown_step() -> None:
    with pytest.raises(KeyError):
        Graph({}).ancestors("a")


def test_a_container_set_waits_for_what_its_containers_read() -> None:
    worker = PodContainer(
        name="worker",
        image="alpine",
        args=(A,),
        env=(EnvVar(name="B", value=StepRef(step="b")),),
    )
    both = Step(name="both", action=ContainerSet(containers=(worker,)))
    assert Graph.of((echo("a"), echo("b"), both)).predecessors["both"] == ("a", "b")
