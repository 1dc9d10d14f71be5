"""Whatever the problem, methods keep tags, limits and order; and they find what they should."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings, strategies as st

from couler.errors import GroupingError
from couler.optimizers.grouping.contraction import ContractedGroups
from couler.optimizers.grouping.greedy import RandomGroups, largest_coverage
from couler.optimizers.grouping.methods import METHODS, group_operators
from couler.optimizers.grouping.problem import (
    CONNECTION,
    NODE,
    Costs,
    Group,
    Image,
    Limits,
    Operator,
    Problem,
)
from couler.optimizers.grouping.solution import is_acyclic, price, violations
from tests.optimizers.grouping.pipelines import IMAGES, best_cost, problem_of, problems

ANY = ("none", "random", "connection", "node", "greedy", "contraction", "milp")
"""The methods that solve each problem and need nothing that tests lack."""


@pytest.mark.parametrize("method", ANY)
@settings(max_examples=12)
@given(problem=problems(has_lost=True))
def test_a_grouping_keeps_its_promises(method: str, problem: Problem) -> None:
    solution = group_operators(problem, method)
    assert violations(problem, solution.grouping) == ()
    assert solution.cost == price(problem, solution.grouping).total
    if problem.mode == "batch":
        assert is_acyclic(problem, solution.grouping)
    assert group_operators(problem, method) == solution
    if solution.bound is not None:
        assert solution.bound <= solution.cost + 1e-6


@settings(max_examples=12)
@given(problem=problems(has_lost=True))
def test_no_method_is_better_than_the_bound_of_the_integer_program(problem: Problem) -> None:
    bound = group_operators(problem, "milp").bound
    assert bound is not None
    for method in ("none", "random", "connection", "node", "greedy", "contraction"):
        assert group_operators(problem, method).cost >= bound - 1e-6


@given(problem=problems(), seed=st.integers(0, 3))
def test_random_groups_follow_their_seed(problem: Problem, seed: int) -> None:
    one = RandomGroups(seed).solve(problem)
    assert RandomGroups(seed).solve(problem) == one
    assert violations(problem, one.grouping) == ()


def test_a_line_is_cut_once() -> None:
    # Either end of the plain stretch does: 3 edges inside, one across, two groups.
    for method in ("connection", "node", "greedy", "contraction", "milp", "tree-dp"):
        solution = group_operators(problem_of("r---b"), method)
        assert (solution.cost, len(solution.grouping)) == (135, 2), method


def test_the_node_heuristic_does_not_look_at_edges() -> None:
    assert NODE.intra == NODE.inter
    problem = problem_of("r-b-")
    node, connection = (group_operators(problem, name) for name in ("node", "connection"))
    assert len(node.grouping) == len(connection.grouping) == 2
    # Its own objective is the same for both; the connection heuristic's is not.
    own = dataclasses.replace(problem, costs=NODE)
    assert price(own, node.grouping).total == price(own, connection.grouping).total == 2015
    assert connection.cost <= node.cost


def test_the_connection_heuristic_weighs_by_bytes_if_the_problem_does() -> None:
    problem = problem_of("r-b", costs=dataclasses.replace(NODE, per_bytes=1))
    heavy = dataclasses.replace(
        problem,
        edges=(
            dataclasses.replace(problem.edges[0], size_bytes=1),
            dataclasses.replace(problem.edges[1], size_bytes=9),
        ),
    )
    assert group_operators(heavy, "connection").grouping == (
        Group("red", ("a",)),
        Group("blue", ("b", "c")),
    )


def test_largest_coverage_takes_the_image_that_runs_most() -> None:
    problem = problem_of("r-bb-")
    # Blue runs four of five, red what is left.
    assert largest_coverage(problem) == [[1, 2, 3, 4], [0]]


def test_batch_steps_do_not_wait_in_a_circle() -> None:
    # a and c would share the red image, but b, which is blue, stands between them.
    streaming = group_operators(problem_of("rbr"), "contraction")
    assert len(streaming.grouping) == 2
    batch = group_operators(problem_of("rbr", mode="batch"), "contraction")
    assert [group.operators for group in batch.grouping] == [("a",), ("b",), ("c",)]
    # Steps that no path leads between may share a pod: a and b, though not along an edge.
    apart = problem_of("rrb", [(0, 2)], mode="batch")
    assert group_operators(apart, "contraction").cost == 20 + 100


def test_lost_seconds_keep_parallel_lines_apart() -> None:
    # Two lines of 10 s each, and one processor in a pod.
    lines = [(0, 1), (2, 3)]
    costs = Costs(per_lost_s=100)
    for mode in ("batch", "streaming"):
        problem = problem_of(
            "----", lines, seconds=[5] * 4, limits=Limits(cpu=1), mode=mode, costs=CONNECTION
        )
        assert len(group_operators(problem, "contraction").grouping) == 1
        kept = group_operators(dataclasses.replace(problem, costs=costs), "contraction")
        assert [group.operators for group in kept.grouping] == [("a", "b"), ("c", "d")]
        assert kept.cost == 110


def test_a_dear_image_is_not_taken_to_save_a_cheap_group() -> None:
    problem = Problem(
        operators=(Operator("a", frozenset({"x"})), Operator("b", frozenset({"y"}))),
        images=(
            Image("x", frozenset({"x"}), 1),
            Image("y", frozenset({"y"}), 1),
            Image("both", frozenset({"x", "y"}), 100),
        ),
        costs=Costs(group=10, per_setup_s=1),
    )
    for method in ("greedy", "contraction", "milp", "tree-dp"):
        assert group_operators(problem, method).cost == 22, method


@settings(max_examples=20)
@given(problem=problems(6, has_lost=True))
def test_contraction_is_never_below_the_best(problem: Problem) -> None:
    assert ContractedGroups().solve(problem).cost >= best_cost(problem) - 1e-6


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_nothing_is_grouped_as_nothing(mode: str) -> None:
    problem = Problem((), IMAGES, mode=mode)  # type: ignore[arg-type]  # one of the two
    for name in METHODS:
        if name == "cp-sat" and mode == "streaming":
            continue
        assert group_operators(problem, name).grouping == (), name


def test_the_methods_without_an_extra_are_the_default() -> None:
    assert group_operators(problem_of("r-b")) == group_operators(problem_of("r-b"), "greedy")
    batch = problem_of("r-b", mode="batch")
    assert group_operators(batch) == group_operators(batch, "contraction")


def test_tree_dp_says_what_it_cannot_solve() -> None:
    square = problem_of("----", [(0, 1), (0, 2), (1, 3), (2, 3)], costs=Costs(per_lost_s=1))
    with pytest.raises(GroupingError) as raised:
        group_operators(square, "tree-dp")
    assert raised.value.violations == (
        "lost seconds are no sum over edges and images",
        'the graph is no tree: two paths lead to "d"',
    )
    with pytest.raises(GroupingError, match="batch steps are not in one line"):
        group_operators(dataclasses.replace(square, mode="batch"), "tree-dp")
    many = Problem(
        (*(Operator(f"o{at}", frozenset({f"t{at % 13}"})) for at in range(13)),),
        tuple(
            Image(f"i{at}-{copy}", frozenset({f"t{at}", f"t{(at + copy) % 13}"}))
            for at in range(13)
            for copy in (1, 2)
        ),
    )
    with pytest.raises(GroupingError, match="26 images may be used or not, and at most 12"):
        group_operators(many, "tree-dp")
