"""Problems of grouping: by hand, at random, and their best groupings by trying all."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from couler.optimizers.grouping.problem import (
    CONNECTION,
    Costs,
    Edge,
    Grouping,
    Image,
    Limits,
    Mode,
    Operator,
    Problem,
)
from couler.optimizers.grouping.solution import assemble_members, price, violations

PLAIN, RED, BLUE = frozenset[str](), frozenset({"red"}), frozenset({"blue"})

IMAGES = (Image("red", RED), Image("blue", BLUE))


def problem_of(
    tags: str,
    edges: Sequence[tuple[int, int]] = (),
    *,
    mode: Mode = "streaming",
    costs: Costs = CONNECTION,
    seconds: Sequence[float] = (),
    limits: Limits | None = None,
) -> Problem:
    """Return operators a, b, ...: `r` needs the red image, `b` the blue one, `-` either.

    Edges are pairs of their numbers; without any, they are a line.
    """
    count = len(tags)
    names = "abcdefghijklmnopqrstuvwxyz"[:count]
    needs = {"r": RED, "b": BLUE, "-": PLAIN}
    pairs = edges or [(at, at + 1) for at in range(count - 1)]
    return Problem(
        operators=tuple(
            Operator(name, needs[tag], seconds=seconds[at] if seconds else 1.0)
            for at, (name, tag) in enumerate(zip(names, tags, strict=True))
        ),
        images=IMAGES,
        edges=tuple(Edge(names[before], names[after]) for before, after in pairs),
        costs=costs,
        mode=mode,
        limits=limits or Limits(),
    )


SPECIAL = ("x", "y", "z")


@st.composite
def problems(
    draw: st.DrawFn,
    most: int = 10,
    mode: Mode | None = None,
    *,
    has_limits: bool = True,
    is_line: bool = False,
    has_lost: bool = False,
) -> Problem:
    """Problems of few operators with up to three tags, in no topological order."""
    count = draw(st.integers(1, most))
    order = draw(st.permutations(range(count)))
    if is_line:
        pairs = list(itertools.pairwise(order))
    else:
        possible = [(one, other) for at, one in enumerate(order) for other in order[at + 1 :]]
        chosen = st.lists(st.sampled_from(possible), max_size=2 * count, unique=True)
        pairs = draw(chosen) if possible else []
    tags = st.lists(st.frozensets(st.sampled_from(SPECIAL), max_size=2), max_size=3)
    images = [Image("all", frozenset(SPECIAL), setup_s=draw(st.sampled_from([0.0, 30.0])))]
    images += [Image(f"i{at}", some) for at, some in enumerate(draw(tags))]
    one_tag = st.sampled_from([frozenset[str](), *(frozenset({name}) for name in SPECIAL)])
    chosen_mode: Mode = mode or draw(st.sampled_from(t.get_args(Mode)))
    operators = tuple(
        Operator(
            f"o{at}",
            draw(one_tag),
            memory_bytes=draw(st.integers(0, 3)) if has_limits else 0,
            gpus=draw(st.integers(0, 1)) if has_limits else 0,
            seconds=draw(st.integers(0, 5)),
        )
        for at in range(count)
    )
    limits = Limits(cpu=draw(st.sampled_from([1.0, 2.0])))
    if has_limits:
        limits = Limits(
            limits.cpu, draw(st.sampled_from([None, 4])), draw(st.sampled_from([None, 2]))
        )
    costs = Costs(
        intra=draw(st.sampled_from([0.0, 5.0])),
        inter=draw(st.sampled_from([5.0, 20.0])),
        group=draw(st.sampled_from([0.0, 50.0, 1000.0])),
        per_bytes=draw(st.sampled_from([None, 100])),
        per_setup_s=draw(st.sampled_from([0.0, 1.0])),
        per_lost_s=draw(st.sampled_from([0.0, 10.0])) if has_lost else 0.0,
    )
    edges = tuple(
        Edge(f"o{before}", f"o{after}", draw(st.integers(0, 300))) for before, after in pairs
    )
    return Problem(operators, tuple(images), edges, costs, limits, chosen_mode)


def partitions(count: int) -> Iterator[list[list[int]]]:
    """Yield all ways to put 0 to count - 1 into groups."""
    if not count:
        yield []
        return
    for groups in partitions(count - 1):
        for at in range(len(groups)):
            yield [*groups[:at], [*groups[at], count - 1], *groups[at + 1 :]]
        yield [*groups, [count - 1]]


def best_cost(problem: Problem) -> float:
    """Return what the best grouping costs, of all that are valid."""
    found = []
    for groups in partitions(len(problem.operators)):
        grouping = grouping_of(problem, groups)
        if grouping is not None and not violations(problem, grouping):
            found.append(price(problem, grouping).total)
    return min(found)


def grouping_of(problem: Problem, groups: Sequence[Sequence[int]]) -> Grouping | None:
    """Return groups with their cheapest images, or None if some group has none."""
    for some in groups:
        shared = set(problem.allowed[some[0]])
        for node in some:
            shared &= set(problem.allowed[node])
        if not shared:
            return None
    return assemble_members(problem, groups)
