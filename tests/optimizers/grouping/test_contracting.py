"""Merging keeps groups out of circles, and the order that it looks paths up in true."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from couler.optimizers.grouping.contracting import Contracting
from couler.optimizers.grouping.greedy import split_by_level
from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.moving import move_operators
from couler.optimizers.grouping.problem import Costs, Edge, Image, Operator, Problem
from couler.optimizers.grouping.solution import assemble_members, order_of_groups, price
from tests.optimizers.grouping.pipelines import partitions, problem_of, problems


def assert_consistent(contracting: Contracting) -> None:
    places = contracting.place
    assert set(places) == set(contracting.members)
    assert len(set(places.values())) == len(places)
    for before, after, _ in contracting.problem.pairs:
        one, other = contracting.group_of[before], contracting.group_of[after]
        assert one == other or places[one] < places[other]
        assert one == other or other in contracting.after[one]
        assert one == other or one in contracting.before[other]


@given(problem=problems(mode="batch"), seed=st.integers(0, 5))
def test_places_stay_a_topological_order_while_groups_merge(problem: Problem, seed: int) -> None:
    contracting = Contracting(problem)
    draw = random.Random(seed)
    assert_consistent(contracting)
    for _ in range(30):
        alive = sorted(contracting.members)
        if len(alive) < 2:
            break
        one, other = draw.sample(alive, 2)
        if contracting.may_merge(one, other):
            contracting.merge(one, other)
            assert_consistent(contracting)


@given(problem=problems(8, mode="batch"))
def test_groups_may_merge_if_and_only_if_that_makes_no_circle(problem: Problem) -> None:
    contracting = Contracting(problem)
    contracting.contract_edges(random.Random(1))
    numbers = list(contracting.members)
    for at, one in enumerate(numbers):
        for other in numbers[at + 1 :]:
            merged = [one if group == other else group for group in contracting.group_of]
            dense = {group: place for place, group in enumerate(sorted(set(merged)))}
            groups = [dense[group] for group in merged]
            is_ordered = order_of_groups(problem, groups, len(dense)) is not None
            has_image = bool(contracting.mask[one] & contracting.mask[other])
            assert contracting.may_merge(one, other) == (is_ordered and has_image)


@given(problem=problems(7, mode="batch", has_limits=False, has_lost=True))
def test_what_merging_loses_is_known_before(problem: Problem) -> None:
    contracting = Contracting(problem)
    if contracting.clock is None:
        return
    for _ in range(3):
        for one in list(contracting.members):
            for other in list(contracting.members):
                if one == other or other not in contracting.members:
                    continue
                if one not in contracting.members or not contracting.may_merge(one, other):
                    continue
                before = cost_of_lost(contracting)
                more = contracting.clock.more_lost_s(one, other) * problem.costs.per_lost_s
                one = contracting.merge(one, other)
                assert max(0.0, cost_of_lost(contracting) - before) == pytest.approx(more)


def cost_of_lost(contracting: Contracting) -> float:
    problem = contracting.problem
    return price(problem, assemble_members(problem, contracting.members.values())).lost


@given(problem=problems(6))
def test_splitting_by_level_leaves_no_circle_and_no_group_that_was_in_none(
    problem: Problem,
) -> None:
    for groups in list(partitions(len(problem.operators)))[::7]:
        split = split_by_level(problem, groups)
        group_of = [0] * len(problem.operators)
        for number, some in enumerate(split):
            for node in some:
                group_of[node] = number
        assert sorted(node for some in split for node in some) == sorted(problem.order)
        assert order_of_groups(problem, group_of, len(split)) is not None
        whole = {frozenset(some) for some in groups}
        assert all(any(frozenset(some) <= one for one in whole) for some in split)
        old = [0] * len(problem.operators)
        for number, some in enumerate(groups):
            for node in some:
                old[node] = number
        if order_of_groups(problem, old, len(groups)) is not None:
            assert {frozenset(some) for some in split} == whole


@settings(max_examples=20)
@given(problem=problems(has_lost=True))
def test_moving_never_costs_more(problem: Problem) -> None:
    alone = [[node] for node in problem.order]
    before = price(problem, assemble_members(problem, alone)).total
    moved = move_operators(problem, alone)
    assert price(problem, assemble_members(problem, moved)).total <= before + 1e-6


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_thousand_operators(mode: str) -> None:
    """A line of lines: groups stay valid, and nothing recurses."""
    draw = random.Random(3)
    edges = [(max(0, at - draw.randint(1, 30)), at) for at in range(1, 1000)]
    tags = ["r" if at % 10 == 0 else "b" if at % 10 == 5 else "-" for at in range(1000)]
    small = problem_of("rb-")
    needs = dict(zip("rb-", (one.tags for one in small.operators), strict=True))
    problem = Problem(
        tuple(Operator(f"o{at}", needs[tag], seconds=1.0) for at, tag in enumerate(tags)),
        small.images,
        tuple(Edge(f"o{before}", f"o{after}") for before, after in edges),
        mode=mode,  # type: ignore[arg-type]  # one of the two
    )
    solution = group_operators(problem, "contraction", restarts=1)
    alone = group_operators(problem, "none")
    assert solution.cost < alone.cost / 2


def test_no_group_is_merged_where_the_image_costs_more_than_it_saves() -> None:
    problem = Problem(
        (Operator("a", frozenset({"x"})), Operator("b", frozenset({"y"}))),
        (
            Image("x", frozenset({"x"})),
            Image("y", frozenset({"y"})),
            Image("xy", frozenset({"x", "y"}), setup_s=60),
        ),
        costs=Costs(per_setup_s=1),
    )
    assert len(Contracting(problem).run()) == 2
