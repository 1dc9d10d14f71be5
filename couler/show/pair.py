"""A workflow before and after, in one picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.ir.wording import counted
from couler.ir.workflow import Workflow
from couler.show.bands import with_bands
from couler.show.dot import dot_of
from couler.show.mermaid import mermaid_of
from couler.show.paint import escaped
from couler.show.scene import Box, Layer, Scene, scene_of
from couler.show.svg import Drawing, draw
from couler.show.together import with_parts

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
