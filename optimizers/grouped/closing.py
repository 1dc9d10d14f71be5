"""Sets of steps that can become one step without any run coming to something else.

Such a set is *closed*:

- each step of it waits, directly or through others of it, for all that any of it waits for outside:
  so none has begun when what is outside fails, as none of the one step has;
- one step of it, the *exit*, is all that others wait for or read, and all steps of it lead there;
  or there is no such step, and nothing outside waits for or reads any of it: so whatever fails of
  it, others see the one step fail as they would have seen its exit fail or be omitted.

A closed set is convex: a path that left it would begin at the exit, to which all of it leads. Two
closed sets never wait for each other: all of one waits for all that it waits for outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from couler.ir.graph import Graph

__all__ = ["closed_sets", "is_closed"]


def closed_sets(graph: Graph, among: Iterable[str], read: frozenset[str]) -> list[tuple[str, ...]]:
    """Return disjoint closed sets of two steps or more, large ones first.

    Parameters
    ----------
    graph
        The scope.
    among
        The steps that may be in a set.
    read
        Those that are read from outside of the scope.

    Notes
    -----
    For each step that can be an exit there is one largest set of steps that lead to it alone, and
    within it, for each set of steps to wait for, one largest closed set: what is no member of it
    takes others out with it, until nothing changes. From the last exit to the first the largest
    one is taken, so that a step is in the set of the latest exit. O(n^2 (n + m)) at worst for n
    steps among which is chosen and m edges; O(n (n + m)) for a chain.

    Examples
    --------
    >>> diamond = Graph({"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)})
    >>> closed_sets(diamond, "abcd", frozenset())
    [('a', 'b', 'c', 'd')]
    >>> closed_sets(diamond, "abc", frozenset())
    []
    """
    place = {name: number for number, name in enumerate(graph.topological_order)}
    free = sorted(among, key=place.__getitem__)
    found: list[tuple[str, ...]] = []
    for end in (None, *reversed(free)):
        if end is not None and end not in free:
            continue
        best = _largest(graph, free, end, read)
        while len(best) > 1:
            found.append(best)
            free = [name for name in free if name not in best]
            # Without an exit, what is left may make others.
            best = _largest(graph, free, None, read) if end is None else ()
    return found


def is_closed(graph: Graph, members: Sequence[str], read: frozenset[str]) -> bool:
    """Return whether a set of steps is closed."""
    inside = set(members)
    ends = [
        name for name in members if name in read or not inside.issuperset(graph.successors[name])
    ]
    if len(ends) > 1:
        return False
    exit_ = ends[0] if ends else None
    stops = [name for name in members if inside.isdisjoint(graph.successors[name])]
    if exit_ is not None and stops != [exit_]:
        return False
    return _entered_alike(graph, members, _outside(graph, inside)) == set(members)


def _largest(
    graph: Graph, free: Sequence[str], end: str | None, read: frozenset[str]
) -> tuple[str, ...]:
    """Return the largest closed set with some exit, or with none; in topological order."""
    start = _leading_to(graph, free, end, read)
    best: tuple[str, ...] = ()
    if len(start) < 2:
        return best
    seen: set[frozenset[str]] = set()
    for first in start:
        waits = frozenset(graph.predecessors[first])
        if waits in seen:
            continue
        seen.add(waits)
        inside = list(start)
        while True:
            entered = _entered_alike(graph, inside, waits)
            kept = _leading_to(graph, [one for one in inside if one in entered], end, read)
            if len(kept) == len(inside):
                break
            inside = kept
        if len(inside) > len(best):
            best = tuple(inside)
        if len(best) == len(start):
            break
    return best


def _leading_to(
    graph: Graph, free: Sequence[str], end: str | None, read: frozenset[str]
) -> list[str]:
    """Return the steps that lead to an exit alone; without one, to the end of the scope."""
    inside = {end} if end is not None and end in free else set[str]()
    for name in reversed(free):
        after = graph.successors[name]
        if name in inside or name in read or (not after and end is not None):
            continue
        if inside.issuperset(after):
            inside.add(name)
    return [name for name in free if name in inside]


def _entered_alike(graph: Graph, members: Iterable[str], waits: frozenset[str]) -> set[str]:
    """Return the steps that wait for all of some, and for nothing else outside of them."""
    found: set[str] = set()
    for name in members:
        befores = graph.predecessors[name]
        inside = [one for one in befores if one in found]
        if set(befores) == waits or (
            inside and all(one in found or one in waits for one in befores)
        ):
            found.add(name)
    return found


def _outside(graph: Graph, inside: set[str]) -> frozenset[str]:
    return frozenset(
        before for name in inside for before in graph.predecessors[name] if before not in inside
    )
