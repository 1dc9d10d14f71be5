"""A workflow as an SVG picture, readable in light and dark, without any program to draw it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

from couler.ir.workflow import Workflow
from couler.show.collapse import collapse
from couler.show.legend import draw_legend
from couler.show.measure import fit, text_width
from couler.show.paint import Canvas, draw_box, draw_route, escaped
from couler.show.placement import NAME_SIZE, SMALL_SIZE, Placed, place
from couler.show.scene import Handler, Scene, scene_of

MOST_BOXES = 300
"""A picture with more boxes has its groups drawn closed, the innermost first."""

_MARGIN = 24.0
_TITLE_SIZE = 17.0
_ROOM_GAP, _ROOM_PAD, _ROOM_HEADER = 24.0, 16.0, 38.0
_WIDE_ENOUGH = 460.0
"""Least width inside the margins: title and legend need some room."""


def render_svg(workflow: Workflow) -> str:
    """Return a workflow as an SVG picture; the same text for the same workflow."""
    return draw(scene_of(workflow)).text()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture and its size."""

    title: str
    canvas: Canvas
    width: float
    height: float

    def text(self, y: float | None = None) -> str:
        """Return the SVG; with `y` one that stands inside of another, so far below its top."""
        lines = _document(self.title, self.canvas, self.width, self.height, y)
        return "\n".join(lines)


def draw(scene: Scene, remark: str | None = None) -> Drawing:
    """Draw a scene, with a remark below its title."""
    scene, closed = collapse(scene, MOST_BOXES)
    note = "; ".join(filter(None, (remark, closed))) or None
    main = place(scene.layer)
    rooms = [_Room(handler, place(handler.layer)) for handler in scene.handlers]
    rows = _rows_of(rooms, max(main.width, _WIDE_ENOUGH))
    row_widths = [sum(room.width for room in row) + _ROOM_GAP * (len(row) - 1) for row in rows]
    width = max(main.width, *row_widths, _WIDE_ENOUGH)
    canvas = Canvas()
    y = _draw_title(canvas, scene, note, width)
    _draw_placed(canvas, main, _MARGIN + (width - main.width) / 2, y)
    y += main.height
    for row, row_width in zip(rows, row_widths, strict=True):
        y += _ROOM_GAP
        _draw_row(canvas, row, _MARGIN + (width - row_width) / 2, y)
        y += max(room.height for room in row)
    y = draw_legend(canvas, [main, *(room.placed for room in rooms)], _MARGIN, y + 30.0, width)
    return Drawing(scene.title, canvas, width + 2 * _MARGIN, y + _MARGIN)


class _Room(t.NamedTuple):
    """An exit handler with its steps in place."""

    handler: Handler
    placed: Placed

    @property
    def width(self) -> float:
        title = text_width(self.handler.title, NAME_SIZE, bold=True)
        return max(self.placed.width, title) + 2 * _ROOM_PAD

    @property
    def height(self) -> float:
        return _ROOM_HEADER + self.placed.height + _ROOM_PAD


def _rows_of(rooms: list[_Room], width: float) -> list[list[_Room]]:
    rows: list[list[_Room]] = []
    left = 0.0
    for room in rooms:
        if not rows or room.width + _ROOM_GAP > left:
            rows.append([])
            left = width + _ROOM_GAP
        rows[-1].append(room)
        left -= room.width + _ROOM_GAP
    return rows


def _document(
    title: str, canvas: Canvas, width: float, height: float, y: float | None
) -> Iterator[str]:
    at = "" if y is None else f'y="{y:.0f}" '
    size = f'{at}width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    label = escaped(f"workflow {title}", quote=True)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="couler" {size} '
        f'role="img" aria-label="{label}">'
    )
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>'
    yield from canvas.lines
    yield "</svg>"


def _draw_title(canvas: Canvas, scene: Scene, note: str | None, room: float) -> float:
    """Draw name and parameters; return the y below."""
    y = _MARGIN + _TITLE_SIZE
    canvas.text(_MARGIN, y, fit(scene.title, _TITLE_SIZE, room, bold=True), "title")
    for line in filter(None, (", ".join(scene.parameters), note)):
        y += 18.0
        canvas.text(_MARGIN, y, fit(line, SMALL_SIZE, room), "small", full=line)
    return y + 24.0


def _draw_placed(canvas: Canvas, placed: Placed, x: float, y: float) -> None:
    """Draw a layer: arrows first, so that boxes lie above them."""
    drawn: set[tuple[object, ...]] = set()
    for route in placed.routes:
        draw_route(canvas, route, x, y, drawn)
    for frame in placed.frames:
        draw_box(canvas, frame, x, y)
        if frame.inner is not None:
            _draw_placed(
                canvas,
                frame.inner,
                x + frame.x + frame.inner_at[0],
                y + frame.y + frame.inner_at[1],
            )


def _draw_row(canvas: Canvas, row: list[_Room], x: float, y: float) -> None:
    height = max(room.height for room in row)
    for room in row:
        canvas.line(
            f'<rect class="handler" x="{x:.1f}" y="{y:.1f}" width="{room.width:.1f}" '
            f'height="{height:.1f}" rx="8"/>'
        )
        canvas.text(x + _ROOM_PAD, y + 22.0, room.handler.title, "name")
        inside = x + (room.width - room.placed.width) / 2
        _draw_placed(canvas, room.placed, inside, y + _ROOM_HEADER)
        x += room.width + _ROOM_GAP


_LIGHT = {
    "ground": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#6e7781",
    "red": "#cf222e", "gold": "#9a6700", "blue": "#0969da", "veil": "#8c959f",
    "container": "#ddf4ff", "container-line": "#54aeff",
    "script": "#dafbe1", "script-line": "#4ac26b",
    "job": "#fff1e5", "job-line": "#fb8f44",
    "http": "#fbefff", "http-line": "#c297ff",
    "suspend": "#fff8c5", "suspend-line": "#d4a72c",
    "group": "#f6f8fa", "group-line": "#afb8c1",
    "block": "#ffffff", "block-line": "#d0d7de",
}  # fmt: skip
_DARK = {
    "ground": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#8b949e",
    "red": "#f85149", "gold": "#d29922", "blue": "#58a6ff", "veil": "#6e7681",
    "container": "#0c2d4d", "container-line": "#388bfd",
    "script": "#0f3320", "script-line": "#2ea043",
    "job": "#3d210b", "job-line": "#db6d28",
    "http": "#2c1a4d", "http-line": "#8957e5",
    "suspend": "#342a03", "suspend-line": "#bb8009",
    "group": "#151b23", "group-line": "#3d444d",
    "block": "#0d1117", "block-line": "#3d444d",
}  # fmt: skip
_KINDS = ("container", "script", "job", "http", "suspend", "group", "block")


def _rules(colours: dict[str, str]) -> str:
    """Return the rules that set colours; plain values, as not every viewer knows variables."""
    c = colours
    rules = [
        f".ground{{fill:{c['ground']}}}",
        f".couler text{{fill:{c['ink']}}}",
        f".couler .small{{fill:{c['soft']}}}",
        f".edge{{stroke:{c['line']}}}.head{{fill:{c['line']};stroke:{c['line']}}}",
        f".edge.when{{stroke:{c['blue']}}}.head.when{{fill:{c['blue']};stroke:{c['blue']}}}",
        f".edge.failure,.edge.back{{stroke:{c['red']}}}",
        f".head.failure,.head.back{{fill:{c['red']};stroke:{c['red']}}}",
        f".edge.completion{{stroke:{c['gold']}}}",
        f".head.completion{{fill:{c['gold']};stroke:{c['gold']}}}",
        f".head.one{{fill:{c['ground']}}}",
        f".pill{{fill:{c['ground']};stroke:{c['blue']}}}",
        f".couler .pill-text{{fill:{c['blue']}}}",
        f".handler{{stroke:{c['veil']}}}",
        f".badge{{fill:{c['ink']}}}.couler .badge-text{{fill:{c['ground']}}}",
    ]
    rules += [f".{k}{{fill:{c[k]};stroke:{c[k + '-line']}}}" for k in _KINDS]
    return "".join(rules)


STYLE = (
    ".couler{font-family:Helvetica,Arial,'Liberation Sans',sans-serif}"
    f".couler .title{{font-size:{_TITLE_SIZE:g}px;font-weight:600}}"
    f".couler .name{{font-size:{NAME_SIZE:g}px;font-weight:600}}"
    f".couler .small,.couler .pill-text,.couler .badge-text{{font-size:{SMALL_SIZE:g}px}}"
    ".couler .middle{text-anchor:middle}"
    ".edge{fill:none;stroke-width:1.4}.edge.when{stroke-dasharray:5 4}"
    ".edge.completion{stroke-dasharray:1.5 3.5;stroke-linecap:round}"
    ".handler{fill:none;stroke-dasharray:6 4}"
    + _rules(_LIGHT)
    + "@media (prefers-color-scheme:dark){"
    + _rules(_DARK)
    + "}"
)
