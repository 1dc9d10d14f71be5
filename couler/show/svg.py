"""A workflow as an SVG picture, readable in light and dark, with a legend; large ones collapsed."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from couler.ir.wording import counted
from couler.ir.workflow import Workflow
from couler.show.measure import fit, text_width
from couler.show.paint import Canvas, arrow_head, draw_box, draw_route, escaped, shape
from couler.show.placement import CLOSES_CYCLE, NAME_SIZE, SMALL_SIZE, Placed, place
from couler.show.scene import Box, Handler, Layer, Scene, scene_of

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


_KIND_NAMES = {
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
    entries = [("box", kind, text) for kind, text in _KIND_NAMES.items() if kind in kinds]
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
