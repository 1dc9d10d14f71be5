"""Groups that wait for each other in a circle, taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from couler.optimizers.grouping.problem import Problem


def split_by_level(problem: Problem, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Take groups that wait for each other apart, so that none do; the others stay as they are."""
    group_of = [0] * len(problem.operators)
    for number, some in enumerate(groups):
        for node in some:
            group_of[node] = number
    edges: dict[int, set[int]] = {number: set() for number in range(len(groups))}
    for before, after, _ in problem.pairs:
        if group_of[before] != group_of[after]:
            edges[group_of[before]].add(group_of[after])
    circle_of: dict[int, int] = {}
    sizes: list[int] = []
    for component in strong_components(edges):
        for number in component:
            circle_of[number] = len(sizes)
        sizes.append(len(component))
    level = [0] * len(problem.operators)
    for node in problem.order:
        circle = circle_of[group_of[node]]
        if sizes[circle] > 1:
            level[node] = max(
                (
                    level[one] + (group_of[one] != group_of[node])
                    for one in problem.predecessors[node]
                    if circle_of[group_of[one]] == circle
                ),
                default=0,
            )
    found: dict[tuple[int, int], list[int]] = {}
    for node in problem.order:
        found.setdefault((group_of[node], level[node]), []).append(node)
    return list(found.values())


def strong_components(edges: Mapping[int, set[int]]) -> Iterator[list[int]]:
    """Yield the sets of nodes that reach each other (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            node, rest = work[-1]
            following = next((one for one in rest if one not in index or one in on_path), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found: list[int] = []
                    while not found or found[-1] != node:
                        found.append(path.pop())
                    on_path.difference_update(found)
                    yield found
            elif following in index:
                low[node] = min(low[node], index[following])
            else:
                index[following] = low[following] = len(index)
                path.append(following)
                on_path.add(following)
                work.append((following, iter(sorted(edges[following]))))
