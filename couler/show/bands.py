"""Very large scopes, drawn as bands: the steps of some consecutive levels are one closed box."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from couler.ir.graph import Graph
from couler.ir.wording import counted
from couler.show.scene import Box, Edge, Layer, Scene


def with_bands(scene: Scene, *, over: int, most: int) -> tuple[Scene, str | None]:
    """Return a picture that draws its own scope as bands if that has too many boxes."""
    boxes, edges = scene.layer.boxes, scene.layer.edges
    if len(boxes) <= over or _kinds(scene.layer) <= over:
        return scene, None
    before: dict[str, list[str]] = {box.path: [] for box in boxes}
    for edge in edges:
        before[edge.target].append(edge.source)
    levels = Graph(before).levels
    height = -(-max(len(levels), 1) // most)
    band = {path: number // height for number, level in enumerate(levels) for path in level}
    last = len(levels) // height + 1
    inside: dict[int, int] = {}
    for box in boxes:
        number = band.setdefault(box.path, last)
        inside[number] = inside.get(number, 0) + 1
    # Some step of each band waits for one of the band before, so all other arrows follow.
    rows = sorted(inside)
    layer = Layer(
        tuple(_box(number, inside[number], height) for number in rows),
        tuple(Edge(_path(one), _path(other)) for one, other in pairwise(rows)),
    )
    bands = counted(len(inside), "band")
    note = f"{len(boxes):,} steps are drawn as {bands}, by the steps before them"
    return replace(scene, layer=layer), note


def _kinds(layer: Layer) -> int:
    """Return how many boxes have arrows that no other box has."""
    before: dict[str, set[str]] = {box.path: set() for box in layer.boxes}
    after: dict[str, set[str]] = {box.path: set() for box in layer.boxes}
    for edge in layer.edges:
        before[edge.target].add(edge.source)
        after[edge.source].add(edge.target)
    return len({(frozenset(before[path]), frozenset(after[path])) for path in before})


def _box(number: int, count: int, height: int) -> Box:
    first = number * height + 1
    name = f"level {first:,}" if height == 1 else f"levels {first:,} to {first + height - 1:,}"
    return Box(
        path=_path(number),
        name=name,
        kind="group",
        detail=f"{counted(count, 'step')}, drawn closed",
        is_step=False,
    )


def _path(number: int) -> str:
    return f"band:{number}"
