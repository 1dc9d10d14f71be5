"""Levels, orders and columns: the row of each box and its position there, with few crossings."""
# Levels and orders: Sugiyama, Tagawa, Toda (1981).
# Columns: Brandes, Köpf: Fast and Simple Horizontal Coordinate Assignment (Graph Drawing 2001).

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_SWEEPS = 12
_MANY = 400
"""Above so many points fewer sweeps are made, and neighbours are not swapped one by one."""


@dataclass
class Levels:
    """Points on levels: first the boxes, by their index, then the bends of long edges."""

    order: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[tuple[int, ...]]
    bends_from: int
    position: list[int] = field(default_factory=list)
    """For each point, its place in its level."""

    def renumber(self) -> None:
        """Bring `position` up to date."""
        self.position = [0] * len(self.above)
        for level in self.order:
            for place, point in enumerate(level):
                self.position[point] = place


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between boxes by index; those with the same style may share their bends."""

    source: int
    target: int
    style: Hashable = None


def arrange_levels(widths: Sequence[float], links: Sequence[Link], max_width: float) -> Levels:
    """Put boxes on levels and order each level."""
    pairs = _without_cycles(len(widths), links)
    level_of = _split_wide(_level_of(len(widths), pairs), widths, max_width)
    levels = _with_bends(level_of, pairs, links)
    _order(levels)
    return levels


def _without_cycles(count: int, links: Sequence[Link]) -> list[tuple[int, int]]:
    """Return each link as (upper, lower), turned round where it would close a cycle."""
    after: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        after[link.source].append(number)
    state = [0] * count  # 0 not seen, 1 on the current path, 2 done
    turned: set[int] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(after[root]))]
        while stack:
            box, rest = stack[-1]
            for number in rest:
                target = links[number].target
                if state[target] == 1:
                    turned.add(number)
                elif state[target] == 0:
                    state[target] = 1
                    stack.append((target, iter(after[target])))
                    break
            else:
                state[box] = 2
                stack.pop()
    return [
        (link.target, link.source) if number in turned else (link.source, link.target)
        for number, link in enumerate(links)
    ]


def _level_of(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the level of each box: as high as it can be, unless lower makes edges shorter."""
    before: list[set[int]] = [set() for _ in range(count)]
    after: list[set[int]] = [set() for _ in range(count)]
    for upper, lower in pairs:
        if upper != lower:
            before[lower].add(upper)
            after[upper].add(lower)
    waiting = [len(uppers) for uppers in before]
    queue = [box for box in range(count) if not waiting[box]]
    level = [0] * count
    for box in queue:  # grows while it is read
        for lower in sorted(after[box]):
            level[lower] = max(level[lower], level[box] + 1)
            waiting[lower] -= 1
            if not waiting[lower]:
                queue.append(lower)
    for box in reversed(queue):
        if len(after[box]) > len(before[box]):
            level[box] = min(level[lower] for lower in after[box]) - 1
    return level


def _split_wide(level_of: list[int], widths: Sequence[float], max_width: float) -> list[int]:
    """Return the row of each box: a level that is too wide becomes several rows of like width."""
    members: dict[int, list[int]] = {}
    for box, level in enumerate(level_of):
        members.setdefault(level, []).append(box)
    result = [0] * len(level_of)
    row = -1
    for level in sorted(members):
        total = sum(widths[box] for box in members[level])
        rows = math.ceil(total / max_width)
        left, part = 0.0, -1
        for box in members[level]:
            middle = left + widths[box] / 2
            left += widths[box]
            if int(middle / total * rows) != part:
                part = int(middle / total * rows)
                row += 1
            result[box] = row
    return result


def _with_bends(
    level_of: list[int], pairs: Sequence[tuple[int, int]], links: Sequence[Link]
) -> Levels:
    """Add a bend on each level that an edge passes; edges of one end and style share them."""
    count = len(level_of)
    height = max(level_of, default=-1) + 1
    order: list[list[int]] = [[] for _ in range(height)]
    for box, level in enumerate(level_of):
        order[level].append(box)
    fan_out = [0] * count
    fan_in = [0] * count
    for upper, lower in pairs:
        fan_out[upper] += 1
        fan_in[lower] += 1
    bends: dict[tuple[bool, int, Hashable, int], int] = {}
    above: list[dict[int, None]] = [{} for _ in range(count)]
    below: list[dict[int, None]] = [{} for _ in range(count)]
    chains: list[tuple[int, ...]] = []
    for (upper, lower), link in zip(pairs, links, strict=True):
        by_source = fan_out[upper] >= fan_in[lower]
        chain = [upper]
        for level in range(level_of[upper] + 1, level_of[lower]):
            key = (by_source, upper if by_source else lower, link.style, level)
            if key not in bends:
                bends[key] = len(above)
                order[level].append(len(above))
                above.append({})
                below.append({})
            chain.append(bends[key])
        chain.append(lower)
        for one, other in pairwise(chain):
            below[one][other] = None
            above[other][one] = None
        chains.append(tuple(chain))
    return Levels(order, list(map(list, above)), list(map(list, below)), chains, count)


def _order(levels: Levels) -> None:
    """Order each level so that few edges cross; the best of several sweeps stays."""
    levels.renumber()
    small = len(levels.above) <= _MANY
    best, fewest = [list(level) for level in levels.order], _crossings(levels)
    for sweep in range(_SWEEPS if small else 4):
        downwards = sweep % 2 == 0
        rows = range(1, len(levels.order)) if downwards else range(len(levels.order) - 2, -1, -1)
        for row in rows:
            _sort_row(levels, row, levels.above if downwards else levels.below)
        if small:
            _swap_neighbours(levels)
        count = _crossings(levels)
        if count < fewest:
            best, fewest = [list(level) for level in levels.order], count
        if not fewest:
            break
    levels.order = best
    levels.renumber()


def _sort_row(levels: Levels, row: int, neighbours: Sequence[Sequence[int]]) -> None:
    """Sort a level by the mean place of its neighbours; points without any keep their place."""
    position = levels.position
    level = levels.order[row]
    means = {
        point: sum(position[one] for one in neighbours[point]) / len(neighbours[point])
        for point in level
        if neighbours[point]
    }
    ordered = iter(sorted(means, key=lambda point: (means[point], position[point])))
    levels.order[row] = [next(ordered) if point in means else point for point in level]
    for place, point in enumerate(levels.order[row]):
        position[point] = place


def _swap_neighbours(levels: Levels) -> None:
    """Swap neighbours on a level where that takes crossings away."""
    position = levels.position
    for level in levels.order:
        for place in range(len(level) - 1):
            left, right = level[place], level[place + 1]
            now = later = 0
            for side in (levels.above, levels.below):
                for one in side[left]:
                    for other in side[right]:
                        now += position[one] > position[other]
                        later += position[one] < position[other]
            if later < now:
                level[place], level[place + 1] = right, left
                position[left], position[right] = place + 1, place


def _crossings(levels: Levels) -> int:
    """Count the crossings between all neighbouring levels."""
    total = 0
    for level in levels.order:
        ends: list[int] = []  # places on the next level of the edges so far, sorted
        for point in level:
            places = sorted(levels.position[one] for one in levels.below[point])
            total += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return total


def assign_columns(levels: Levels, widths: Sequence[float], gap: float) -> list[float]:
    """Return the horizontal centre of each point; the leftmost edge of all is at 0."""
    if not widths:
        return []
    marked = _crossed_by_long_edges(levels)
    candidates = []
    for upwards in (True, False):
        for leftmost in (True, False):
            order = levels.order if upwards else levels.order[::-1]
            order = order if leftmost else [level[::-1] for level in order]
            neighbours = levels.above if upwards else levels.below
            place = {point: i for level in order for i, point in enumerate(level)}
            heads = _align(order, neighbours, place, marked)
            columns = _compact(order, heads, widths, gap)
            candidates.append(columns if leftmost else [-column for column in columns])
    return _balance(candidates, widths)


def _crossed_by_long_edges(levels: Levels) -> set[tuple[int, int]]:
    """Return the edges that cross one between two bends: those long edges stay straight."""
    marked: set[tuple[int, int]] = set()
    position, first_bend = levels.position, levels.bends_from
    for upper, lower in pairwise(levels.order):
        left, start = -1, 0
        for place, point in enumerate(lower):
            inner = None
            if point >= first_bend:
                bends = [one for one in levels.above[point] if one >= first_bend]
                inner = position[bends[0]] if bends else None
            last = place == len(lower) - 1
            if inner is None and not last:
                continue
            right = inner if inner is not None else len(upper)
            for other in lower[start : place + 1]:
                for one in levels.above[other]:
                    both_bends = one >= first_bend and other >= first_bend
                    if not both_bends and not left <= position[one] <= right:
                        marked.add((one, other))
            left, start = right, place + 1
    return marked


def _align(
    order: Sequence[Sequence[int]],
    neighbours: Sequence[Sequence[int]],
    place: dict[int, int],
    marked: set[tuple[int, int]],
) -> list[int]:
    """Return for each point the first of the block that shares its column."""
    head = list(range(len(neighbours)))
    tail = list(range(len(neighbours)))  # the next of the block; the last points to the first
    for level in order:
        furthest = -1
        for point in level:
            near = sorted((one for one in neighbours[point] if one in place), key=place.__getitem__)
            if not near:
                continue
            middle = (len(near) - 1) / 2
            for index in range(int(middle), int(middle + 0.5) + 1):
                one = near[index]
                crossed = (one, point) in marked or (point, one) in marked
                if tail[point] == point and furthest < place[one] and not crossed:
                    tail[one] = point
                    head[point] = head[one]
                    tail[point] = head[one]
                    furthest = place[one]
    return head


def _compact(
    order: Sequence[Sequence[int]], heads: Sequence[int], widths: Sequence[float], gap: float
) -> list[float]:
    """Return columns with all blocks as far left as they go, then pulled to their right."""
    right_of: dict[int, dict[int, float]] = {head: {} for head in heads}
    left_of: dict[int, dict[int, float]] = {head: {} for head in heads}
    for level in order:
        for one, other in pairwise(level):
            left, right = heads[one], heads[other]
            distance = max((widths[one] + widths[other]) / 2 + gap, right_of[left].get(right, 0.0))
            right_of[left][right] = left_of[right][left] = distance
    waiting = {head: len(left_of[head]) for head in left_of}
    queue = [head for head in waiting if not waiting[head]]
    column = dict.fromkeys(left_of, 0.0)
    for head in queue:  # grows while it is read
        for right, distance in right_of[head].items():
            column[right] = max(column[right], column[head] + distance)
            waiting[right] -= 1
            if not waiting[right]:
                queue.append(right)
    for head in reversed(queue):
        if right_of[head]:
            room = min(column[right] - distance for right, distance in right_of[head].items())
            column[head] = max(column[head], room)
    return [column[head] for head in heads]


def _balance(candidates: list[list[float]], widths: Sequence[float]) -> list[float]:
    """Return the mean of the middle two of four columns, after moving the four together."""
    halves = [width / 2 for width in widths]

    def sides(columns: list[float]) -> tuple[float, float]:
        left = min(column - half for column, half in zip(columns, halves, strict=True))
        right = max(column + half for column, half in zip(columns, halves, strict=True))
        return left, right

    spans = [sides(columns) for columns in candidates]
    low, high = min(spans, key=lambda span: span[1] - span[0])
    moved = []
    for number, (columns, (left, right)) in enumerate(zip(candidates, spans, strict=True)):
        shift = low - left if number % 2 == 0 else high - right
        moved.append([column + shift for column in columns])
    middle = [sum(sorted(four)[1:3]) / 2 for four in zip(*moved, strict=True)]
    left, _ = sides(middle)
    return [column - left for column in middle]
