"""Groups that are kept up to date while operators move are those that are looked at anew."""

from __future__ import annotations

import random

import pytest

from couler.optimizers.grouping.contracting import Contracting, GroupClock
from couler.optimizers.grouping.problem import Costs, Edge, Image, Limits, Operator, Problem
from couler.optimizers.grouping.solution import lost_seconds, order_of_groups
from couler.optimizers.grouping.timed_groups import MixedGroups, TimedGroups


def problem_of(draw: random.Random, *, per_lost_s: float = 25.0, mode: str = "batch") -> Problem:
    count = draw.randint(3, 14)
    operators = tuple(
        Operator(f"o{n}", cpu=draw.choice((0, 1, 2)), seconds=draw.choice((0.0, 0.1, 2.0, 7.3)))
        for n in range(count)
    )
    edges = tuple(
        Edge(f"o{one}", f"o{other}", draw.randint(0, 9))
        for other in range(count)
        for one in range(other)
        if draw.random() < 0.3
    )
    return Problem(
        operators,
        (Image("i", setup_s=1.5),),
        edges,
        Costs(per_bytes=7, per_setup_s=0.3, per_lost_s=per_lost_s),
        Limits(sized_by_group=mode == "batch"),
        mode,  # type: ignore[arg-type]  # one of its two
    )


@pytest.mark.parametrize("seed", range(8))
def test_moves_keep_order_and_ends(seed: int) -> None:
    draw = random.Random(seed)
    problem = problem_of(draw)
    count = len(problem.operators)
    groups = TimedGroups(problem, [[node] for node in range(count)])
    for _ in range(40):
        before = [list(some) for some in groups.members], list(groups.group_of), groups.lost_s
        nodes = draw.sample(range(count), draw.randint(1, 2))
        target = draw.randrange(count)
        wanted = [target if node in nodes else own for node, own in enumerate(groups.group_of)]
        is_ordered = order_of_groups(problem, wanted, count) is not None
        assert groups.move(nodes, target) is is_ordered
        if is_ordered:
            assert groups.group_of == wanted
            assert groups.lost_s == lost_seconds(problem, wanted, groups.members)
        if not is_ordered or draw.random() < 0.5:
            groups.take_back()
            assert (groups.members, groups.group_of, groups.lost_s) == before


def test_where_seconds_cost_nothing_the_order_alone_is_kept() -> None:
    problem = problem_of(random.Random(1), per_lost_s=0.0)
    groups = TimedGroups(problem, [[node] for node in range(len(problem.operators))])
    assert groups.lost_s == 0.0
    assert groups.move([1], 0)


@pytest.mark.parametrize("per_lost_s", [0.0, 25.0])
def test_streams_move_as_they_like(per_lost_s: float) -> None:
    problem = problem_of(random.Random(2), per_lost_s=per_lost_s, mode="streaming")
    groups = MixedGroups(problem, [[node] for node in range(len(problem.operators))])
    before = [list(some) for some in groups.members]
    assert groups.move([1, 0], 2)
    assert groups.members[2] == [2, 1, 0]
    expected = lost_seconds(problem, groups.group_of, groups.members) if per_lost_s else 0.0
    assert groups.lost_s == expected
    groups.take_back()
    assert groups.members == before


@pytest.mark.parametrize("seed", range(4))
def test_the_clock_of_merging_groups_is_that_of_new_ones(seed: int) -> None:
    draw = random.Random(seed)
    problem = problem_of(draw)
    groups = Contracting(problem)
    while len(groups.members) > 1:
        pairs = [
            (one, other)
            for one in groups.members
            for other in groups.members
            if one < other and groups.may_merge(one, other)
        ]
        if not pairs:
            break
        groups.merge(*draw.choice(pairs))
        clock, anew = groups.clock, GroupClock(groups)
        assert clock is not None
        assert (clock.ends, clock.tails, clock.most_s) == (anew.ends, anew.tails, anew.most_s)
