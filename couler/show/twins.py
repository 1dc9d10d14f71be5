"""Steps side by side: those with the same arrows in and out are drawn as one block."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from couler.show.scene import Box, Edge, Layer

KIND = "block"
"""The kind of the box that stands around them."""

_LEAST = 7
"""Fewer are drawn one by one, each with its arrows."""


def gather_twins(layer: Layer) -> Layer:
    """Return a layer with each set of steps that have the same arrows as one box around them."""
    arrows: dict[str, tuple[set[tuple[str, str, bool]], set[tuple[str, str, bool]]]] = {
        box.path: (set(), set()) for box in layer.boxes
    }
    apart: set[str] = set()
    for edge in layer.edges:
        arrows[edge.target][0].add((edge.source, edge.on, edge.one_of))
        arrows[edge.source][1].add((edge.target, edge.on, edge.one_of))
        if edge.condition is not None or edge.source == edge.target:
            apart |= {edge.source, edge.target}
    alike: dict[t.Hashable, list[Box]] = {}
    for box in layer.boxes:
        if box.path not in apart:
            incoming, outgoing = arrows[box.path]
            alike.setdefault((frozenset(incoming), frozenset(outgoing)), []).append(box)
    block_of: dict[str, Box] = {}
    for boxes in alike.values():
        if _LEAST <= len(boxes) < len(layer.boxes):
            block = _block(boxes)
            block_of.update((box.path, block) for box in boxes)
    if not block_of:
        return layer
    shown = dict.fromkeys(block_of.get(box.path, box).path for box in layer.boxes)
    known = {box.path: box for box in (*layer.boxes, *block_of.values())}
    edges: dict[Edge, None] = {}
    for edge in layer.edges:
        source, target = (
            block_of[path].path if path in block_of else path for path in (edge.source, edge.target)
        )
        edges[replace(edge, source=source, target=target)] = None
    return Layer(tuple(known[path] for path in shown), tuple(edges))


def is_grid(layer: Layer) -> bool:
    """Return whether a layer has so many boxes without arrows that they are drawn in rows."""
    return not layer.edges and len(layer.boxes) >= _LEAST


def _block(boxes: list[Box]) -> Box:
    return Box(
        path=f"block:{boxes[0].path}",
        name="",
        kind=KIND,
        detail=f"{len(boxes)} steps side by side",
        body=Layer(tuple(boxes), ()),
        is_step=False,
    )
