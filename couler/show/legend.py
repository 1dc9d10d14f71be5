"""The legend of an SVG picture: the kinds of boxes and arrows that occur in it."""

from __future__ import annotations

from collections.abc import Sequence

from couler.show.measure import text_width
from couler.show.paint import Canvas, arrow_head, shape
from couler.show.placement import CLOSES_CYCLE, SMALL_SIZE, Placed

_KINDS = {
    "container": "container",
    "script": "script",
    "job": "job",
    "http": "HTTP request",
    "suspend": "wait",
    "group": "group",
    "block": "steps with the same arrows",
}
_ARROWS = {
    "success": "after success",
    "when": "with a condition",
    "failure": "after a failure",
    "completion": "after any end",
    "success-one": "after the success of one of them",
    "failure-one": "after the failure of one of them",
    "completion-one": "after the end of one of them",
    CLOSES_CYCLE: "closes a cycle: not valid",
}
_GAP = 26.0


def draw_legend(canvas: Canvas, drawn: Sequence[Placed], x: float, y: float, width: float) -> float:
    """Draw the legend in lines of at most a width; return the y below it."""
    kinds = {frame.box.kind for placed in drawn for frame in placed.walk()}
    styles = {route.style for placed in drawn for route in placed.walk_routes()}
    if any(frame.waits_for_itself for placed in drawn for frame in placed.walk()):
        styles.add(CLOSES_CYCLE)
    if not kinds:
        canvas.text(x, y + 12.0, "no steps", "small")
        return y + 16.0
    right = x + width
    at = x
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
    return y + 20.0
