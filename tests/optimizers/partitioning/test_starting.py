"""When nodes and parts start: cases worked by hand, the definition, and runs that are simulated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, strategies as st

from couler.optimizers.partitioning.measure import makespan, start_times
from couler.optimizers.partitioning.methods import partition
from couler.optimizers.partitioning.model import Partition, TaskGraph
from tests.support.simulation import barriers, gates
from tests.support.task_graphs import graph_of, graphs

Path = tuple[str, ...]


def ends(graph: TaskGraph, *paths: Path) -> list[float]:
    starts = start_times(graph.predecessors, graph.seconds, paths or None)
    return [start + takes for start, takes in zip(starts, graph.seconds, strict=True)]


def test_a_part_in_a_part_waits_for_those_beside_it_alone() -> None:
    # In r, the part x of n1 holds n2 up, but only n3, which is in no part of r, waits for n1.
    chain = graph_of((), (), (1,), (1,), seconds=(7, 2, 1, 1))
    assert ends(chain, *[("r",)] * 4) == [7, 2, 3, 3]
    assert ends(chain, ("r", "x"), ("r", "x"), ("r", "y"), ("r",)) == [7, 2, 8, 8]
    # In another run both wait for all of r.
    assert ends(chain, ("r", "x"), ("r", "y"), ("s",), ("s", "x")) == [7, 2, 8, 8]
    # A part of the same name in another one is another part.
    assert ends(chain, ("r", "x"), ("s", "x"), ("s", "y"), ("s", "x")) == [7, 2, 4, 3]


def test_parts_in_a_circle_are_refused() -> None:
    diamond = graph_of((), (0,), (0,), (1, 2))
    with pytest.raises(ValueError, match="circle"):
        ends(diamond, ("a",), ("a",), ("b",), ("a",))
    with pytest.raises(ValueError, match="circle"):
        makespan(diamond, Partition((0, 0, 1, 0), 2))
    with pytest.raises(ValueError, match="circle"):
        start_times([(1,), (0,)], [1.0, 1.0])


def by_definition(
    predecessors: Sequence[Sequence[int]], seconds: Sequence[float], paths: Sequence[Path]
) -> list[float]:
    """Return the start of each node by the two rules of `start_times`, one after the other."""
    nodes = range(len(seconds))

    def unshared(node: int, other: int) -> Path:
        """The outermost part around a node that another is not in, or nothing."""
        for depth in range(1, len(paths[node]) + 1):
            if paths[other][:depth] != paths[node][:depth]:
                return paths[node][:depth]
        return ()

    @cache
    def start(node: int) -> float:
        found = [begin(paths[node])]
        for one in predecessors[node]:
            if not unshared(node, one):
                there = unshared(one, node)
                found.append(close(there) if there else start(one) + seconds[one])
        return max(found)

    @cache
    def begin(part: Path) -> float:
        if not part:
            return 0.0
        found = [begin(part[:-1])]
        for node in nodes:
            for one in predecessors[node]:
                if unshared(node, one) == part:
                    there = unshared(one, node)
                    found.append(close(there) if there else start(one) + seconds[one])
        return max(found)

    @cache
    def close(part: Path) -> float:
        inside = [node for node in nodes if paths[node][: len(part)] == part]
        return max(start(node) + seconds[node] for node in inside)

    return [start(node) for node in nodes]


@st.composite
def nested(draw: st.DrawFn) -> tuple[TaskGraph, list[Path]]:
    """A graph whose nodes are in parts of parts: of the parts of levels, runs of neighbours."""
    graph = draw(graphs(18, has_sets=False))
    outer = partition(graph, {"steps": draw(st.integers(2, 9))}, "levels").part_of
    inner = partition(graph, {"steps": draw(st.integers(1, 4))}, "levels").part_of
    depths = draw(st.lists(st.integers(0, 2), min_size=len(outer), max_size=len(outer)))
    if draw(st.booleans()):  # some steps in no part, which keeps the parts in order
        depths = [2] * len(outer)
    paths = [
        (f"r{run}", f"g{group}")[:depth]
        for run, group, depth in zip(outer, inner, depths, strict=True)
    ]
    return graph, paths


@given(nested())
def test_times_are_those_of_the_definition(made: tuple[TaskGraph, list[Path]]) -> None:
    graph, paths = made
    try:
        found = start_times(graph.predecessors, graph.seconds, paths)
    except ValueError:
        with pytest.raises(RecursionError):
            by_definition(graph.predecessors, graph.seconds, paths)
        return
    assert found == pytest.approx(by_definition(graph.predecessors, graph.seconds, paths))


@given(graphs(has_sets=False), st.integers(2, 8), st.sampled_from(["bands", "levels", "order"]))
def test_makespans_are_those_of_simulated_runs(graph: TaskGraph, most: int, method: str) -> None:
    found = partition(graph, {"steps": most}, method)
    assert makespan(graph, found) == pytest.approx(barriers(graph, found.part_of))
    whole = Partition((0,) * len(graph.names), 1)
    assert makespan(graph, whole) == pytest.approx(gates(graph, found.part_of))
