"""Where everything in a picture stands: boxes, groups around boxes, the course of each arrow."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import dataclass, field

from couler.show.columns import assign_columns
from couler.show.levels import Levels, Link, arrange_levels
from couler.show.measure import fit, text_width
from couler.show.scene import Box, Edge, Layer

NAME_SIZE = 13.0
SMALL_SIZE = 11.0
PILL_HEIGHT = 18.0
STACK_STEP = 4.0
"""How far each of the two boxes behind a foreach sticks out."""

_LINE = 16.0
_PAD_X, _PAD_Y = 14.0, 9.0
_MIN_WIDTH, _MAX_TEXT = 84.0, 240.0
_GROUP_PAD = 16.0
_COLUMN_GAP, _ROW_GAP = 26.0, 40.0
_BEND_WIDTH = 4.0
_LOOP_ROOM = 22.0
_PILL_ROOM = PILL_HEIGHT + 14.0
_MAX_ROW = 1800.0
"""Boxes of one level that need more pixels than this are put in several rows."""

Point: t.TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """A box with its place: the corner at the top left, relative to the layer around it."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    name: str
    lines: tuple[str, ...]
    """Small lines below the name."""
    pill: str | None
    """The condition, written above the box where the arrow comes in."""
    inner: Placed | None
    inner_at: Point

    @property
    def centre(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Route:
    """The course of an arrow: straight and curved parts by turns, beginning with a straight one.

    Where the arrow closes a cycle it runs upwards, from the end of `points` to the start.
    """

    edge: Edge
    points: tuple[Point, ...]
    upwards: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A layer with the places of all that is in it."""

    width: float
    height: float
    frames: tuple[Frame, ...]
    routes: tuple[Route, ...]


@dataclass(slots=True)
class _Sized:
    """A box before it has a place."""

    box: Box
    name: str
    lines: tuple[str, ...]
    pill: str | None
    inner: Placed | None
    inner_at: Point
    width: float
    height: float
    above: float = 0.0
    """Room that the box keeps above itself."""
    beside: float = 0.0
    """Room that it keeps on both sides."""
    outer_width: float = field(default=0.0)


def place(layer: Layer) -> Placed:
    """Give every box and arrow of a layer its place."""
    if not layer.boxes:
        return Placed(0.0, 0.0, (), ())
    carried = {edge.target for edge in layer.edges if edge.condition is not None}
    sized = [_measure(box, box.path in carried) for box in layer.boxes]
    index = {box.path: number for number, box in enumerate(layer.boxes)}
    edges = [edge for edge in layer.edges if edge.source != edge.target]
    links = [Link(index[edge.source], index[edge.target], style_of(edge)) for edge in edges]
    outer = [one.outer_width for one in sized]
    levels = arrange_levels([width + _COLUMN_GAP for width in outer], links, _MAX_ROW)
    bends = len(levels.above) - levels.bends_from
    columns = assign_columns(levels, [*outer, *[_BEND_WIDTH] * bends], _COLUMN_GAP)
    tops, middles, bottoms = _rows(levels, sized, columns)
    row_of = {point: row for row, level in enumerate(levels.order) for point in level}
    frames = tuple(
        Frame(
            one.box,
            columns[number] - one.width / 2,
            middles[row_of[number]] - one.height / 2,
            one.width,
            one.height,
            one.name,
            one.lines,
            one.pill,
            one.inner,
            one.inner_at,
        )
        for number, one in enumerate(sized)
    )
    routes = tuple(
        _route(edge, chain, index[edge.source] != chain[0], frames, columns, row_of, tops, bottoms)
        for edge, chain in zip(edges, levels.chains, strict=True)
    )
    width = max(
        columns[point] + (outer[point] if point < len(outer) else _BEND_WIDTH) / 2
        for point in range(len(columns))
    )
    return Placed(width, bottoms[-1], frames, routes)


def style_of(edge: Edge) -> str:
    """Return which kind of arrow an edge is: those of one kind may share a trunk."""
    if edge.condition is not None:
        return "when"
    return f"{edge.on}-one" if edge.one_of else edge.on


def _measure(box: Box, carried: bool) -> _Sized:
    """Return a box with its texts and its size."""
    small = [] if box.body is not None and box.body.boxes else [box.detail]
    if box.foreach is not None:
        small.append(f"for each {box.foreach}")
    if box.loop is not None:
        small.append(f"again {box.loop}")
    if box.when is not None and not carried:
        small.append(f"when {box.when}")
    inner = place(box.body) if box.body is not None and box.body.boxes else None
    room = max(_MAX_TEXT, inner.width if inner is not None else 0.0)
    name = fit(box.name, NAME_SIZE, room, bold=True)
    lines = tuple(fit(line, SMALL_SIZE, room) for line in small if line)
    widest = max(
        text_width(name, NAME_SIZE, bold=True),
        *(text_width(line, SMALL_SIZE) for line in lines),
        0.0,
    )
    width = max(_MIN_WIDTH, widest + 2 * _PAD_X)
    if box.kind in ("suspend", "http"):
        width += 16.0  # slanted and round sides leave less room for the text
    header = _PAD_Y * 2 + _LINE * (1 + len(lines)) - 2
    height = header
    inner_at = (0.0, 0.0)
    if inner is not None:
        width = max(width, inner.width + 2 * _GROUP_PAD)
        inner_at = ((width - inner.width) / 2, header + 4)
        height = header + 4 + inner.height + _GROUP_PAD
    sized = _Sized(box, name, lines, None, inner, inner_at, width, height)
    if box.foreach is not None:
        sized.above, sized.beside = 2 * STACK_STEP, 2 * STACK_STEP
    if box.loop is not None:
        sized.beside += _LOOP_ROOM
    sized.outer_width = width + 2 * sized.beside
    if carried and box.when is not None:
        sized.pill = fit(box.when, SMALL_SIZE, max(_MAX_TEXT, width - 20))
        sized.above += _PILL_ROOM
        sized.outer_width = max(sized.outer_width, text_width(sized.pill, SMALL_SIZE) + 22)
    return sized


def _rows(
    levels: Levels, sized: Sequence[_Sized], columns: Sequence[float]
) -> tuple[list[float], list[float], list[float]]:
    """Return for each level its top, the middle of its boxes and its bottom."""
    tops, middles, bottoms = [], [], []
    y = 0.0
    for row, level in enumerate(levels.order):
        boxes = [sized[point] for point in level if point < len(sized)]
        up = max((one.above + one.height / 2 for one in boxes), default=0.0)
        down = max((one.height / 2 for one in boxes), default=0.0)
        tops.append(y)
        middles.append(y + up)
        bottoms.append(y + up + down)
        slant = max(
            (
                abs(columns[point] - columns[other])
                for point in level
                for other in levels.below[point]
            ),
            default=0.0,
        )
        y = bottoms[row] + _ROW_GAP + min(60.0, slant * 0.05)
    return tops, middles, bottoms


def _route(
    edge: Edge,
    chain: Sequence[int],
    upwards: bool,
    frames: Sequence[Frame],
    columns: Sequence[float],
    row_of: dict[int, int],
    tops: Sequence[float],
    bottoms: Sequence[float],
) -> Route:
    first, last = frames[chain[0]], frames[chain[-1]]
    points: list[Point] = [
        (first.centre, first.y + first.height),
        (first.centre, bottoms[row_of[chain[0]]]),
    ]
    for bend in chain[1:-1]:
        points.append((columns[bend], tops[row_of[bend]]))
        points.append((columns[bend], bottoms[row_of[bend]]))
    points.append((last.centre, tops[row_of[chain[-1]]]))
    points.append((last.centre, last.y))
    return Route(edge, tuple(points), upwards)
