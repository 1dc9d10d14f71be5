"""Graphs of integers to put into parts: by hand, and hypothesis strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from couler.optimizers.partitioning.model import TaskGraph


def graph_of(
    *predecessors: tuple[int, ...],
    costs: Mapping[str, tuple[int, ...]] | None = None,
    together: Sequence[tuple[int, ...]] = (),
    seconds: Sequence[float] = (),
    edge_bytes: Mapping[tuple[int, int], int] | None = None,
) -> TaskGraph:
    """Return a graph of steps n0, n1, ... that cost 1 and take a second, unless said."""
    count = len(predecessors)
    return TaskGraph(
        tuple(f"n{node}" for node in range(count)),
        predecessors,
        costs or {"steps": (1,) * count},
        tuple(seconds) or (1.0,) * count,
        edge_bytes or {},
        tuple(together),
    )


@st.composite
def graphs(draw: st.DrawFn, most: int = 24, *, has_sets: bool = True) -> TaskGraph:
    """Graphs whose program order is not topological, of two dimensions, with sets that stay."""
    count = draw(st.integers(1, most))
    order = draw(st.permutations(range(count)))
    before: list[tuple[int, ...]] = [()] * count
    for index, node in enumerate(order):
        if index:
            chosen = st.lists(st.sampled_from(order[:index]), max_size=3, unique=True)
            before[node] = tuple(draw(chosen))
    nodes = st.lists(st.integers(0, count - 1), max_size=3)
    sets = draw(st.lists(nodes, max_size=2)) if has_sets else []
    size = st.lists(st.integers(0, 90), min_size=count, max_size=count)
    seconds = st.lists(st.integers(0, 9).map(float), min_size=count, max_size=count)
    edges = [(one, node) for node, befores in enumerate(before) for one in befores]
    return graph_of(
        *before,
        costs={"steps": (1,) * count, "bytes": tuple(draw(size))},
        seconds=draw(seconds),
        edge_bytes={edge: draw(st.integers(0, 1000)) for edge in edges[:5]},
        together=tuple(map(tuple, sets)),
    )


budgets = st.fixed_dictionaries(
    {}, optional={"steps": st.integers(1, 9), "bytes": st.integers(100, 400)}
)
overheads = st.fixed_dictionaries({}, optional={"bytes": st.integers(0, 9)})
