"""Parts of a split workflow, drawn as groups of the steps that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from couler.ir.walk import scopes
from couler.ir.wording import counted
from couler.ir.workflow import Workflow
from couler.show.scene import Box, Edge, Layer, Scene

_Parts = Mapping[str, tuple[str | None, str | None]]
"""For steps of a part, by their paths: its run and its group."""

_TITLES = ("run", "part")


def with_parts(scene: Scene, workflow: Workflow) -> Scene:
    """Return a picture in which the steps of one part lie in a box of their own."""
    parts = {
        scope.path_of(step): (step.part.run, step.part.group)
        for scope in scopes(workflow)
        for step in scope.steps
        if step.part is not None
    }
    if not parts:
        return scene
    handlers = tuple(replace(one, layer=_layer(one.layer, parts)) for one in scene.handlers)
    return replace(scene, layer=_layer(scene.layer, parts), handlers=handlers)


def _layer(layer: Layer, parts: _Parts) -> Layer:
    boxes = tuple(
        box if box.body is None else replace(box, body=_layer(box.body, parts))
        for box in layer.boxes
    )
    return _gather(Layer(boxes, layer.edges), parts, 0)


def _gather(layer: Layer, parts: _Parts, level: int) -> Layer:
    """Put the boxes of one run (level 0) or one group of a run (level 1) into one."""
    if level == len(_TITLES):
        return layer
    inside: dict[str, list[Box]] = {}
    place: dict[str, str] = {}
    for box in layer.boxes:
        name = parts.get(box.path, (None, None))[level]
        where = box.path
        if name is not None:
            where = f"{box.path.removesuffix(box.name)}{_TITLES[level]}:{name}"
        place[box.path] = where
        inside.setdefault(where, []).append(box)
    within: dict[str, list[Edge]] = {}
    between: dict[tuple[str, str], Edge] = {}
    for edge in layer.edges:
        source, target = place[edge.source], place[edge.target]
        if source == target != edge.target:
            within.setdefault(source, []).append(edge)
        elif (source, target) == (edge.source, edge.target):
            between[edge.source, edge.target] = edge
        else:
            between.setdefault((source, target), Edge(source, target))
    boxes: list[Box] = []
    for where, own in inside.items():
        body = Layer(tuple(own), tuple(within.get(where, ())))
        if own[0].path == where:
            boxes.append(own[0])
        else:
            name = where.rpartition(":")[2]
            boxes.append(_box(where, f"{_TITLES[level]} {name}", _gather(body, parts, level + 1)))
    gathered = Layer(tuple(boxes), tuple(between.values()))
    return _gather(gathered, parts, level + 1) if level == 0 else gathered


def _box(path: str, name: str, body: Layer) -> Box:
    count = len(body.boxes)
    return Box(
        path=path,
        name=name,
        kind="group",
        detail=counted(count, "box", "boxes"),
        body=body,
        is_step=False,
    )
