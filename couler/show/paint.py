"""The strokes of an SVG picture: boxes by kind, arrows, labels."""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise

from couler.show.measure import text_width
from couler.show.placement import (
    CLOSES_CYCLE,
    NAME_SIZE,
    PILL_HEIGHT,
    SMALL_SIZE,
    STACK_STEP,
    Frame,
    Point,
    Route,
)
from couler.show.scene import Box

_HEAD = 7.0

_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""All but the characters of XML 1.0, section 2.2."""


class Canvas:
    """SVG elements in the order in which they are painted."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, element: str) -> None:
        """Add an element."""
        self.lines.append(element)

    def text(self, x: float, y: float, text: str, style: str, *, full: str | None = None) -> None:
        """Add a line of text; where it is cut, `full` is shown under the pointer."""
        title = f"<title>{escaped(full)}</title>" if full is not None and full != text else ""
        self.lines.append(
            f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{title}{escaped(text)}</text>'
        )


def draw_box(canvas: Canvas, frame: Frame, x: float, y: float) -> None:
    """Paint a box with its texts, at an offset."""
    left, top = x + frame.x, y + frame.y
    kind, width, height = frame.box.kind, frame.width, frame.height
    canvas.line(f"<g><title>{escaped(_hint(frame.box))}</title>")
    if frame.box.foreach is not None:
        for step in (2, 1):
            shift = step * STACK_STEP
            canvas.line(shape(kind, left + shift, top - shift, width, height))
    canvas.line(shape(kind, left, top, width, height))
    is_open = frame.inner is not None
    style, anchor = ("", left + 14.0) if is_open else (" middle", left + width / 2)
    baseline = top + 9.0 + NAME_SIZE
    if frame.name:
        canvas.text(anchor, baseline, frame.name, f"name{style}")
    else:
        baseline -= 16.0
    for line in frame.lines:
        baseline += 16.0
        canvas.text(anchor, baseline, line, f"small{style}")
    canvas.line("</g>")
    if frame.box.foreach is not None:
        count = "n" if frame.box.count is None else str(frame.box.count)
        _badge(canvas, left + width, top, f"\N{MULTIPLICATION SIGN}{count}")
    if frame.waits_for_itself:
        _loop_arrow(canvas, left + width, top, height, style=CLOSES_CYCLE)
    elif frame.box.loop is not None:
        _loop_arrow(canvas, left + width, top, height)
    if frame.pill is not None:
        top -= 0.0 if frame.box.foreach is None else 2 * STACK_STEP
        _pill(canvas, left + width / 2, top, frame.pill, frame.box.when)


def shape(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Return the outline of a kind of step."""
    if kind == "http":
        slant = 9.0
        corners = (
            (x + slant, y),
            (x + width, y),
            (x + width - slant, y + height),
            (x, y + height),
        )
        return f'<polygon class="{kind}" points="{_points(corners)}"/>'
    radius = {
        "script": min(12.0, height / 3.4),
        "suspend": height / 2,
        "group": 8.0,
        "block": 8.0,
    }.get(kind, 2.0)
    outline = (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{radius:g}"/>'
    )
    if kind == "job":
        sides = f"M{x + 6:.1f},{y:.1f}v{height:.1f}M{x + width - 6:.1f},{y:.1f}v{height:.1f}"
        return f'{outline}<path class="{kind}" d="{sides}"/>'
    return outline


def draw_route(
    canvas: Canvas, route: Route, x: float, y: float, drawn: set[tuple[object, ...]]
) -> None:
    """Paint an arrow at an offset, without the parts that another of its kind has painted."""
    points = [(x + px, y + py) for px, py in route.points]
    style = route.style.removesuffix("-one")
    end = points[0] if route.upwards else points[-1]
    path = ""
    pen: Point | None = None
    for number, (one, other) in enumerate(pairwise(points)):
        key = (style, one, other)
        if key in drawn or one == other:
            continue
        drawn.add(key)
        if pen != one:
            path += f"M{one[0]:.1f},{one[1]:.1f}"
        path += _stroke(one, other, curved=number % 2 == 1)
        pen = other
    if path:
        canvas.line(f'<path class="edge {style}" d="{path}"/>')
    if ("head", style, end) not in drawn:
        drawn.add(("head", style, end))
        one_of = " one" if route.edge.one_of else ""
        canvas.line(arrow_head(end, f"{style}{one_of}", upwards=route.upwards))


def arrow_head(at: Point, style: str, *, upwards: bool = False) -> str:
    """Return the point of an arrow that comes in from above, or from below."""
    x, y = at
    back = _HEAD if upwards else -_HEAD
    corners = ((x, y), (x - _HEAD / 2, y + back), (x + _HEAD / 2, y + back))
    return f'<polygon class="head {style}" points="{_points(corners)}"/>'


def _stroke(one: Point, other: Point, *, curved: bool) -> str:
    if not curved or abs(one[0] - other[0]) < 0.5:
        return f"L{other[0]:.1f},{other[1]:.1f}"
    middle = (one[1] + other[1]) / 2
    return f"C{one[0]:.1f},{middle:.1f} {other[0]:.1f},{middle:.1f} {other[0]:.1f},{other[1]:.1f}"


def _pill(canvas: Canvas, centre: float, top: float, text: str, full: str | None) -> None:
    """Paint a condition in a rounded frame above a box, with room for the point of the arrow."""
    width = text_width(text, SMALL_SIZE) + 16.0
    y = top - PILL_HEIGHT - 10.0
    canvas.line(
        f'<rect class="pill" x="{centre - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{PILL_HEIGHT:g}" rx="{PILL_HEIGHT / 2:g}"/>'
    )
    canvas.text(centre, y + 13.0, text, "pill-text middle", full=full)


def _badge(canvas: Canvas, right: float, top: float, text: str) -> None:
    width = text_width(text, SMALL_SIZE) + 10.0
    x, y = right - width + 12.0, top - 13.0
    canvas.line(
        f'<rect class="badge" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="16" rx="8"/>'
    )
    canvas.text(x + width / 2, y + 12.0, text, "badge-text middle")


def _loop_arrow(
    canvas: Canvas, right: float, top: float, height: float, *, style: str = "success"
) -> None:
    """Paint an arrow from the lower right side back to the upper right side."""
    low, high = top + height - min(12.0, height / 4), top + min(16.0, height / 3)
    canvas.line(
        f'<path class="edge {style}" d="M{right:.1f},{low:.1f}C{right + 24:.1f},{low:.1f} '
        f'{right + 24:.1f},{high:.1f} {right + 6:.1f},{high:.1f}"/>'
    )
    corners = ((right, high), (right + _HEAD, high - 3.5), (right + _HEAD, high + 3.5))
    canvas.line(f'<polygon class="head {style}" points="{_points(corners)}"/>')


def _hint(box: Box) -> str:
    lines = [box.path, f"{box.kind} {box.detail}"]
    if box.foreach is not None:
        lines.append(f"for each {box.foreach}")
    if box.loop is not None:
        lines.append(f"again while {box.loop}, {box.most_rounds}")
    if box.when is not None:
        lines.append(f"when {box.when}")
    return "\n".join(lines)


def _points(corners: tuple[Point, ...]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def escaped(text: str, *, quote: bool = False) -> str:
    """Return text that XML can hold: marked characters escaped, those it forbids replaced."""
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), quote=quote)
