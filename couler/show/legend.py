"""The legend of an SVG picture: the kinds of boxes and arrows that occur in it."""

from __future__ import annotations

from collections.abc import Iterator

from couler.show.measure import text_width
from couler.show.paint import Canvas, arrow_head, shape
from couler.show.placement import SMALL_SIZE, style_of
from couler.show.scene import Box, Edge, Layer, Scene

_KINDS = {
    "container": "container",
    "script": "script",
    "job": "job",
    "http": "HTTP request",
    "suspend": "wait",
    "group": "group",
}
_ARROWS = {
    "success": "after success",
    "when": "with a condition",
    "failure": "after a failure",
    "completion": "after any end",
    "success-one": "after the success of one of them",
    "failure-one": "after the failure of one of them",
    "completion-one": "after the end of one of them",
}
_GAP = 26.0


def legend(canvas: Canvas, scene: Scene, x: float, y: float, right: float) -> tuple[float, float]:
    """Draw the legend in lines; return the y below it and its rightmost x."""
    layers = [scene.layer, *(handler.layer for handler in scene.handlers)]
    boxes = [box for layer in layers for box in _boxes(layer)]
    edges = [edge for layer in layers for edge in _edges(layer)]
    kinds = {box.kind for box in boxes}
    styles = {style_of(edge) for edge in edges}
    if not boxes:
        canvas.text(x, y + 12.0, "no steps", "small")
        return y + 16.0, x + 60.0
    at, rightmost = x, x
    entries = [("box", kind, text) for kind, text in _KINDS.items() if kind in kinds]
    entries += [("arrow", style, text) for style, text in _ARROWS.items() if style in styles]
    for what, style, text in entries:
        width = 34.0 + text_width(text, SMALL_SIZE)
        if at > x and at + width > right:
            at, y = x, y + 24.0
        if what == "box":
            canvas.line(shape(style, at, y, 26.0, 16.0))
        else:
            name = style.removesuffix("-one")
            hollow = " one" if name != style else ""
            canvas.line(f'<path class="edge {name}" d="M{at + 13:.1f},{y - 4:.1f}v16"/>')
            canvas.line(arrow_head((at + 13.0, y + 18.0), name + hollow))
        canvas.text(at + 34.0, y + 12.0, text, "small")
        at += width + _GAP
        rightmost = max(rightmost, at - _GAP)
    return y + 20.0, rightmost


def _boxes(layer: Layer) -> Iterator[Box]:
    for box in layer.boxes:
        yield box
        if box.body is not None:
            yield from _boxes(box.body)


def _edges(layer: Layer) -> Iterator[Edge]:
    yield from layer.edges
    for box in layer.boxes:
        if box.body is not None:
            yield from _edges(box.body)
