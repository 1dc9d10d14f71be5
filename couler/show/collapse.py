"""Making a large picture smaller: groups are drawn closed, the innermost first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from couler.ir.wording import counted
from couler.show.scene import Box, Layer, Scene


def collapse(scene: Scene, most: int) -> tuple[Scene, str | None]:
    """Close the groups of one depth after the other until a picture has at most `most` boxes."""
    layers = [scene.layer, *(handler.layer for handler in scene.handlers)]
    shown = sum(map(len, layers))
    groups = [found for layer in layers for found in _groups(layer, 0)]
    closed: set[str] = set()
    for depth in sorted({depth for depth, _ in groups}, reverse=True):
        if shown <= most:
            break
        for of_depth, box in groups:
            if of_depth == depth and box.body is not None:
                closed.add(box.path)
                shown -= len(box.body.boxes)
    if not closed:
        return scene, None
    handlers = tuple(
        replace(handler, layer=_closed(handler.layer, closed)) for handler in scene.handlers
    )
    layer = _closed(scene.layer, closed)
    total = sum(one.steps for one in layers)
    inside = total - layer.steps - sum(one.layer.steps for one in handlers)
    note = (
        f"{counted(len(closed), 'group is', 'groups are')} drawn closed; {inside:,} of {total:,} "
        f"steps {'is' if inside == 1 else 'are'} inside"
    )
    return replace(scene, layer=layer, handlers=handlers), note


def _groups(layer: Layer, depth: int) -> Iterator[tuple[int, Box]]:
    for box in layer.boxes:
        if box.body is not None and box.body.boxes:
            yield depth, box
            yield from _groups(box.body, depth + 1)


def _closed(layer: Layer, paths: set[str]) -> Layer:
    boxes = []
    for box in layer.boxes:
        if box.path in paths and box.body is not None:
            boxes.append(
                replace(box, body=None, detail=f"{counted(box.body.steps, 'step')}, drawn closed")
            )
        elif box.body is not None:
            boxes.append(replace(box, body=_closed(box.body, paths)))
        else:
            boxes.append(box)
    return Layer(tuple(boxes), layer.edges)
