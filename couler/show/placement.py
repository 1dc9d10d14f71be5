"""Positions of all in a picture: boxes, blocks of twins, groups, the course of each arrow."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from couler.show.levels import Levels, Link, arrange_levels, assign_columns
from couler.show.measure import fit, text_width
from couler.show.scene import Box, Edge, Layer
from couler.show.text import one_line

NAME_SIZE = 13.0
SMALL_SIZE = 11.0
PILL_HEIGHT = 18.0
STACK_STEP = 4.0
"""How far each of the two boxes behind a foreach sticks out."""

_LINE = 16.0
_PAD_X, _PAD_Y = 14.0, 9.0
_MIN_WIDTH, _MAX_TEXT = 84.0, 260.0
_GROUP_PAD = 16.0
_COLUMN_GAP, _ROW_GAP, _GRID_GAP, _PART_GAP = 26.0, 40.0, 16.0, 40.0
_BEND_WIDTH = 4.0
_HEAD_ROOM = 14.0
_LOOP_ROOM = 22.0
_PILL_ROOM = PILL_HEIGHT + 14.0
_MAX_ROW = 1800.0
"""Boxes of one level that need more pixels than this are put in several rows."""

CLOSES_CYCLE = "back"
"""The kind of an arrow that runs against the order; the workflow is not valid."""

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
    waits_for_itself: bool = False

    @property
    def centre(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Route:
    """The course of an arrow: straight and curved parts by turns, beginning with a straight one."""

    edge: Edge
    points: tuple[Point, ...]
    upwards: bool

    @property
    def style(self) -> str:
        """Which kind of arrow it is."""
        return CLOSES_CYCLE if self.upwards else style_of(self.edge)


@dataclass(frozen=True, slots=True)
class Placed:
    """A layer with the places of all that is in it."""

    width: float
    height: float
    frames: tuple[Frame, ...]
    routes: tuple[Route, ...]

    def moved(self, x: float, y: float) -> Placed:
        """Return the layer with everything moved."""
        frames = (replace(one, x=one.x + x, y=one.y + y) for one in self.frames)
        routes = (
            replace(route, points=tuple((px + x, py + y) for px, py in route.points))
            for route in self.routes
        )
        return replace(self, frames=tuple(frames), routes=tuple(routes))

    def walk(self) -> Iterator[Frame]:
        """Yield the boxes, those inside groups included."""
        for frame in self.frames:
            yield frame
            if frame.inner is not None:
                yield from frame.inner.walk()

    def walk_routes(self) -> Iterator[Route]:
        """Yield the arrows, those inside groups included."""
        yield from self.routes
        for frame in self.frames:
            if frame.inner is not None:
                yield from frame.inner.walk_routes()


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
    outer_width: float = 0.0
    waits_for_itself: bool = False

    def at(self, centre: float, middle: float) -> Frame:
        """Return the box with its place."""
        return Frame(
            self.box,
            centre - self.width / 2,
            middle - self.height / 2,
            self.width,
            self.height,
            self.name,
            self.lines,
            self.pill,
            self.inner,
            self.inner_at,
            self.waits_for_itself,
        )


def place(layer: Layer) -> Placed:
    """Give every box and arrow of a layer its place."""
    if not layer.boxes:
        return Placed(0.0, 0.0, (), ())
    if is_grid(layer):
        return _place_grid(layer)
    parts = split_parts(gather_twins(layer))
    if len(parts) == 1:
        return _place_part(parts[0])
    placed = [_place_part(part) for part in parts]
    corners = list(set_in_rows([(one.width, one.height) for one in placed], _PART_GAP))
    moved = [one.moved(x, y) for one, (x, y) in zip(placed, corners, strict=True)]
    return Placed(
        max(x + one.width for one, (x, _) in zip(placed, corners, strict=True)),
        max(y + one.height for one, (_, y) in zip(placed, corners, strict=True)),
        tuple(frame for one in moved for frame in one.frames),
        tuple(route for one in moved for route in one.routes),
    )


def _place_part(layer: Layer) -> Placed:
    """Place boxes that arrows join."""
    carried = {edge.target for edge in layer.edges if edge.condition is not None}
    sized = [_measure(box, box.path in carried) for box in layer.boxes]
    index = {box.path: number for number, box in enumerate(layer.boxes)}
    edges = []
    for edge in layer.edges:
        if edge.source == edge.target:
            sized[index[edge.source]].waits_for_itself = True
        else:
            edges.append(edge)
    links = [Link(index[edge.source], index[edge.target], style_of(edge)) for edge in edges]
    outer = [one.outer_width for one in sized]
    levels = arrange_levels([width + _COLUMN_GAP for width in outer], links, _MAX_ROW)
    bends = len(levels.above) - levels.bends_from
    columns = assign_columns(levels, [*outer, *[_BEND_WIDTH] * bends], _COLUMN_GAP)
    tops, middles, bottoms = _rows(levels, sized, columns)
    row_of = {point: row for row, level in enumerate(levels.order) for point in level}
    frames = tuple(
        one.at(columns[number], middles[row_of[number]]) for number, one in enumerate(sized)
    )
    routes = tuple(
        _route(edge, chain, index[edge.source] != chain[0], frames, columns, row_of, tops, bottoms)
        for edge, chain in zip(edges, levels.chains, strict=True)
    )
    routes = _spread_ends(routes)
    width = max(
        columns[point] + (outer[point] if point < len(outer) else _BEND_WIDTH) / 2
        for point in range(len(columns))
    )
    return Placed(width, bottoms[-1], frames, routes)


def _place_grid(layer: Layer) -> Placed:
    """Place boxes without arrows in rows, about half as high as wide."""
    sized = [_measure(box, False) for box in layer.boxes]
    cell = max(one.outer_width for one in sized) + _COLUMN_GAP
    height = max(one.above + one.height for one in sized) + _GRID_GAP
    columns = max(1, round(math.sqrt(2 * len(sized) * height / cell)))
    frames: list[Frame] = []
    y = 0.0
    for start in range(0, len(sized), columns):
        row = sized[start : start + columns]
        up = max(one.above + one.height / 2 for one in row)
        down = max(one.height / 2 for one in row)
        for column, one in enumerate(row):
            frames.append(one.at((column + 0.5) * cell - _COLUMN_GAP / 2, y + up))
        y += up + down + _GRID_GAP
    width = min(columns, len(sized)) * cell - _COLUMN_GAP
    return Placed(width, y - _GRID_GAP, tuple(frames), ())


def _spread_ends(routes: Sequence[Route]) -> tuple[Route, ...]:
    """Return arrows of which those of different kinds do not end in the same point."""
    kinds: dict[Point, dict[str, int]] = {}
    for route in sorted(routes, key=lambda route: route.points[-3]):  # as they come in
        met = kinds.setdefault(route.points[-1], {})
        met.setdefault(route.style, len(met))
    spread = []
    for route in routes:
        met = kinds[route.points[-1]]
        shift = (met[route.style] - (len(met) - 1) / 2) * _HEAD_ROOM
        *course, (x, y), (end_x, end_y) = route.points
        points = (*course, (x + shift, y), (end_x + shift, end_y))
        spread.append(replace(route, points=points))
    return tuple(spread)


def style_of(edge: Edge) -> str:
    """Return which kind of arrow an edge is: those of one kind may share a trunk."""
    if edge.condition is not None:
        return "when"
    return f"{edge.on}-one" if edge.one_of else edge.on


def _measure(box: Box, carried: bool) -> _Sized:
    """Return a box with its texts and its size."""
    is_open = box.body is not None and bool(box.body.boxes)
    small = [box.detail] if box.kind == KIND or not is_open else []
    if box.foreach is not None:
        small.append(f"for each {box.foreach}")
    if box.loop is not None:
        small += [f"again while {box.loop}", box.most_rounds]
    if box.when is not None and not carried:
        small.append(f"when {box.when}")
    inner = place(box.body) if box.body is not None and box.body.boxes else None
    room = max(_MAX_TEXT, inner.width if inner is not None else 0.0)
    name = fit(one_line(box.name), NAME_SIZE, room, bold=True)
    lines = tuple(fit(one_line(line), SMALL_SIZE, room) for line in small if line)
    widest = max(
        text_width(name, NAME_SIZE, bold=True),
        *(text_width(line, SMALL_SIZE) for line in lines),
        0.0,
    )
    width = max(_MIN_WIDTH, widest + 2 * _PAD_X)
    if box.kind in ("suspend", "http"):
        width += 16.0  # slanted and round sides leave less room for the text
    header = _PAD_Y * 2 + _LINE * (bool(name) + len(lines)) - 2
    height = max(header, _PAD_Y * 2 + _LINE)
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
        sized.pill = fit(one_line(box.when), SMALL_SIZE, max(_MAX_TEXT, width - 20))
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
        y = bottoms[row] + _ROW_GAP + min(80.0, slant * 0.08)
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
    behind = 0.0 if last.box.foreach is None else 2 * STACK_STEP
    points.append((last.centre, last.y - behind))
    return Route(edge, tuple(points), upwards)


def split_parts(layer: Layer) -> list[Layer]:
    """Return the parts of a layer that no arrow joins, in the order of their first boxes."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(box.path for box in layer.boxes)
    graph.add_edges_from((edge.source, edge.target) for edge in layer.edges)
    parts = list(nx.connected_components(graph))
    part_of = {path: number for number, paths in enumerate(parts) for path in paths}
    boxes: list[list[int]] = [[] for _ in parts]
    edges: list[list[Edge]] = [[] for _ in parts]
    for number, box in enumerate(layer.boxes):
        boxes[part_of[box.path]].append(number)
    for edge in layer.edges:
        edges[part_of[edge.source]].append(edge)
    return [
        Layer(tuple(layer.boxes[number] for number in numbers), tuple(joined))
        for numbers, joined in zip(boxes, edges, strict=True)
    ]


def set_in_rows(sizes: Sequence[tuple[float, float]], gap: float) -> Iterator[tuple[float, float]]:
    """Yield the corner at the top left of each part, so that all make a picture wider than high."""
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    most = max(math.sqrt(2 * area), *(width for width, _ in sizes))
    x = y = highest = 0.0
    for width, height in sizes:
        if x > 0 and x + width > most:
            x, y, highest = 0.0, y + highest + gap, 0.0
        yield x, y
        x += width + gap
        highest = max(highest, height)


KIND = "block"
"""The kind of the box that stands around them."""

_LEAST = 7
"""Fewer are drawn one by one, each with its arrows."""


def gather_twins(layer: Layer) -> Layer:
    """Return a layer with each set of steps that have the same arrows as one box around them."""
    arrows: dict[str, tuple[set[tuple[str, str, bool]], set[tuple[str, str, bool]]]] = {
        box.path: (set(), set()) for box in layer.boxes
    }
    apart: set[str] = set()
    for edge in layer.edges:
        arrows[edge.target][0].add((edge.source, edge.on, edge.one_of))
        arrows[edge.source][1].add((edge.target, edge.on, edge.one_of))
        if edge.condition is not None or edge.source == edge.target:
            apart |= {edge.source, edge.target}
    alike: dict[t.Hashable, list[Box]] = {}
    for box in layer.boxes:
        if box.path not in apart:
            incoming, outgoing = arrows[box.path]
            alike.setdefault((frozenset(incoming), frozenset(outgoing)), []).append(box)
    block_of: dict[str, Box] = {}
    for boxes in alike.values():
        if _LEAST <= len(boxes) < len(layer.boxes):
            block = _block(boxes)
            block_of.update((box.path, block) for box in boxes)
    if not block_of:
        return layer
    shown = dict.fromkeys(block_of.get(box.path, box).path for box in layer.boxes)
    known = {box.path: box for box in (*layer.boxes, *block_of.values())}
    edges: dict[Edge, None] = {}
    for edge in layer.edges:
        source, target = (
            block_of[path].path if path in block_of else path for path in (edge.source, edge.target)
        )
        edges[replace(edge, source=source, target=target)] = None
    return Layer(tuple(known[path] for path in shown), tuple(edges))


def is_grid(layer: Layer) -> bool:
    """Return whether a layer has so many boxes without arrows that they are drawn in rows."""
    return not layer.edges and len(layer.boxes) >= _LEAST


def _block(boxes: list[Box]) -> Box:
    return Box(
        path=f"block:{boxes[0].path}",
        name="",
        kind=KIND,
        detail=f"{len(boxes)} steps side by side",
        body=Layer(tuple(boxes), ()),
        is_step=False,
    )
