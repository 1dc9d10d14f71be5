"""A workflow before and after in one picture, and large or split scopes drawn as groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.ir.graph import Graph
from couler.ir.walk import scopes
from couler.ir.wording import counted
from couler.ir.workflow import Workflow
from couler.show.dot import dot_of
from couler.show.mermaid import mermaid_of
from couler.show.paint import escaped
from couler.show.scene import Box, Edge, Layer, Scene, scene_of
from couler.show.svg import Drawing, draw

PAIR_FORMATS = ("svg", "mermaid", "dot")
"""Names of the pictures of two workflows."""

_GAP = 16.0
_MOST_BOXES, _MOST_BANDS = 1_000, 100


def render_pair(before: Workflow, after: Workflow, as_: str) -> str:
    """Return one picture of two workflows: in a SVG one below the other, else as two clusters."""
    if as_ == "svg":
        return _render_svg(draw_at(before, "before"), draw_at(after, "after"))
    renderers: dict[str, Callable[[Scene], str]] = {"mermaid": mermaid_of, "dot": dot_of}
    if as_ not in renderers:
        raise EngineOptionError(
            f'there is no picture "{as_}" of two workflows; there are: {", ".join(PAIR_FORMATS)}.'
            f"{did_you_mean(as_, PAIR_FORMATS)}"
        )
    scene, other = (with_parts(scene_of(one), one) for one in (before, after))
    return renderers[as_](_one_scene(scene, other))


def draw_at(workflow: Workflow, moment: str) -> Drawing:
    """Draw a workflow with its parts as groups, and the moment in its title."""
    scene = with_parts(scene_of(workflow), workflow)
    scene, note = with_bands(scene, over=_MOST_BOXES, most=_MOST_BANDS)
    return draw(replace(scene, title=f"{scene.title}: {moment}"), note)


def _render_svg(one: Drawing, other: Drawing) -> str:
    width = max(one.width, other.width)
    height = one.height + _GAP + other.height
    label = escaped(f"{one.title}, and after", quote=True)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">'
    return "\n".join((opening, one.text(0.0), other.text(one.height + _GAP), "</svg>"))


def _one_scene(before: Scene, after: Scene) -> Scene:
    boxes = (_cluster("before", before), _cluster("after", after))
    return Scene(before.title, before.parameters, Layer(boxes, ()), ())


def _cluster(name: str, scene: Scene) -> Box:
    body = _moved(scene.layer, f"{name}/")
    handlers = tuple(
        _group(f"{name}/exit:{one.name}", one.title, _moved(one.layer, f"{name}/"))
        for one in scene.handlers
    )
    return _group(name, name, Layer((*body.boxes, *handlers), body.edges))


def _group(path: str, name: str, body: Layer) -> Box:
    return Box(
        path=path,
        name=name,
        kind="group",
        detail=counted(body.steps, "step"),
        body=body,
        is_step=False,
    )


def _moved(layer: Layer, prefix: str) -> Layer:
    """Return a layer under other paths: those of both workflows stand in one picture."""
    boxes = tuple(
        replace(
            box,
            path=prefix + box.path,
            body=None if box.body is None else _moved(box.body, prefix),
        )
        for box in layer.boxes
    )
    edges = tuple(
        replace(edge, source=prefix + edge.source, target=prefix + edge.target)
        for edge in layer.edges
    )
    return Layer(boxes, edges)


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
            boxes.append(
                _layer_box(where, f"{_TITLES[level]} {name}", _gather(body, parts, level + 1))
            )
    gathered = Layer(tuple(boxes), tuple(between.values()))
    return _gather(gathered, parts, level + 1) if level == 0 else gathered


def _layer_box(path: str, name: str, body: Layer) -> Box:
    count = len(body.boxes)
    return Box(
        path=path,
        name=name,
        kind="group",
        detail=counted(count, "box", "boxes"),
        body=body,
        is_step=False,
    )
