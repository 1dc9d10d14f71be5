"""Where on its level each point stands, so that long edges are straight and boxes are centred."""
# Brandes, Köpf: Fast and Simple Horizontal Coordinate Assignment (Graph Drawing 2001).

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from couler.show.levels import Levels


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
