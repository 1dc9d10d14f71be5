"""Parts of a layer that no arrow joins: each is placed by itself, and all are set in rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from couler.show.scene import Edge, Layer


def split_parts(layer: Layer) -> list[Layer]:
    """Return the parts of a layer that no arrow joins, in the order of their first boxes."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(box.path for box in layer.boxes)
    graph.add_edges_from((edge.source, edge.target) for edge in layer.edges)
    parts = list(nx.connected_components(graph))
    part_of = {path: number for number, paths in enumerate(parts) for path in paths}
    boxes: list[list[int]] = [[] for _ in parts]
    edges: list[list[Edge]] = [[] for _ in parts]
    for number, box in enumerate(layer.boxes):
        boxes[part_of[box.path]].append(number)
    for edge in layer.edges:
        edges[part_of[edge.source]].append(edge)
    return [
        Layer(tuple(layer.boxes[number] for number in numbers), tuple(joined))
        for numbers, joined in zip(boxes, edges, strict=True)
    ]


def set_in_rows(sizes: Sequence[tuple[float, float]], gap: float) -> Iterator[tuple[float, float]]:
    """Yield the corner at the top left of each part, so that all make a picture wider than high."""
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    most = max(math.sqrt(2 * area), *(width for width, _ in sizes))
    x = y = highest = 0.0
    for width, height in sizes:
        if x > 0 and x + width > most:
            x, y, highest = 0.0, y + highest + gap, 0.0
        yield x, y
        x += width + gap
        highest = max(highest, height)
