"""Graphs with labels are compared exactly; networkx is the oracle."""

import networkx
from hypothesis import given, strategies as st

from benchmarks.nl.structure import Edge, Structure, isomorphism


@st.composite
def structures(draw, nodes=7):
    count = draw(st.integers(0, nodes))
    labels = draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count))
    ends = st.integers(0, count - 1) if count else st.nothing()
    edges = (
        draw(st.sets(st.tuples(ends, st.sampled_from("xy"), ends), max_size=14)) if count else ()
    )
    return Structure(labels, {Edge(*edge) for edge in edges})


def moved(structure, order):
    """Return the structure with node `order[i]` in the place of node i."""
    labels = [None] * len(order)
    for node, place in enumerate(order):
        labels[place] = structure.labels[node]
    edges = {Edge(order[edge.source], edge.label, order[edge.target]) for edge in structure.edges}
    return Structure(labels, edges)


def is_same(one, other):
    """Ask networkx."""
    graphs = []
    for structure in (one, other):
        graph = networkx.DiGraph()
        graph.add_nodes_from((n, {"label": label}) for n, label in enumerate(structure.labels))
        for edge in structure.edges:
            before = graph.get_edge_data(edge.source, edge.target, {"labels": frozenset()})
            graph.add_edge(edge.source, edge.target, labels=before["labels"] | {edge.label})
        graphs.append(graph)
    return networkx.is_isomorphic(
        *graphs,
        node_match=lambda a, b: a["label"] == b["label"],
        edge_match=lambda a, b: a["labels"] == b["labels"],
    )


@given(st.data())
def test_moved_is_the_same(data):
    one = data.draw(structures())
    order = data.draw(st.permutations(range(len(one.labels))))
    other = moved(one, order)
    mapping = isomorphism(one, other)
    assert mapping is not None
    assert moved(one, [mapping[node] for node in range(len(order))]) == other


@given(structures(nodes=5), structures(nodes=5))
def test_as_networkx_says(one, other):
    assert (isomorphism(one, other) is not None) == is_same(one, other)


@given(st.data())
def test_one_edge_turned(data):
    one = data.draw(structures())
    order = data.draw(st.permutations(range(len(one.labels))))
    other = moved(one, order)
    if other.edges:
        edge = data.draw(st.sampled_from(sorted(other.edges)))
        other.edges = (other.edges - {edge}) | {Edge(edge.target, edge.label, edge.source)}
    assert (isomorphism(one, other) is not None) == is_same(one, other)


def circle(*lengths):
    """Circles of nodes that all look alike: colours alone cannot tell them apart."""
    structure = Structure()
    for length in lengths:
        nodes = [structure.add("node") for _ in range(length)]
        for node, following in zip(nodes, nodes[1:] + nodes[:1], strict=True):
            structure.connect(node, "next", following)
    return structure


def test_colours_are_not_enough():
    assert isomorphism(circle(6), circle(3, 3)) is None
    assert isomorphism(circle(4, 3, 4), circle(3, 4, 4)) is not None
    assert isomorphism(circle(4, 5), circle(3, 6)) is None


def test_many_alike_are_quick():
    star, other = Structure(), Structure()
    for structure in (star, other):
        middle = structure.add("middle")
        for _ in range(60):
            structure.connect(structure.add("leaf"), "to", middle)
    assert isomorphism(star, other) is not None
