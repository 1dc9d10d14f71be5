"""Exact methods find what trying all groupings finds, and agree."""

from __future__ import annotations

import dataclasses
import sys

import networkx
import pytest
from hypothesis import given, settings

from couler.errors import ConfigurationError, GroupingError
from couler.optimizers.grouping.cp_sat import most_groups
from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.problem import Costs, Problem
from couler.optimizers.grouping.solution import violations
from tests.optimizers.grouping.pipelines import best_cost, problem_of, problems


@settings(max_examples=12)
@given(problem=problems(6, "streaming"))
def test_the_integer_program_is_exact_for_streams(problem: Problem) -> None:
    solution = group_operators(problem, "milp")
    assert solution.bound == pytest.approx(solution.cost)
    assert solution.cost == pytest.approx(best_cost(problem))


@settings(max_examples=12)
@given(problem=problems(6, "batch", has_lost=True))
def test_the_integer_program_bounds_batch_steps(problem: Problem) -> None:
    solution = group_operators(problem, "milp")
    best = best_cost(problem)
    assert solution.bound is not None
    assert solution.bound - 1e-6 <= best <= solution.cost + 1e-6


@settings(max_examples=15)
@given(problem=problems(12, "streaming", has_limits=False, is_line=True))
def test_on_lines_dynamic_programming_and_the_integer_program_agree(problem: Problem) -> None:
    line, program = (group_operators(problem, name) for name in ("tree-dp", "milp"))
    assert violations(problem, line.grouping) == ()
    assert line.cost == pytest.approx(program.cost)
    assert line.bound == pytest.approx(line.cost)


@settings(max_examples=15)
@given(problem=problems(6, "batch", is_line=True, has_lost=True))
def test_on_lines_of_batch_steps_dynamic_programming_is_exact(problem: Problem) -> None:
    solution = group_operators(problem, "tree-dp")
    assert violations(problem, solution.grouping) == ()
    assert solution.cost == pytest.approx(best_cost(problem))


@settings(max_examples=15)
@given(problem=problems(9, "streaming", has_limits=False))
def test_on_trees_dynamic_programming_and_the_integer_program_agree(problem: Problem) -> None:
    graph = networkx.Graph((edge.before, edge.after) for edge in problem.edges)
    if problem.edges and not networkx.is_forest(graph):
        with pytest.raises(GroupingError, match="the graph is no tree"):
            group_operators(problem, "tree-dp")
        return
    tree = group_operators(problem, "tree-dp")
    assert tree.cost == pytest.approx(group_operators(problem, "milp").cost)


def test_the_papers_pipelines_have_the_best_costs_that_are_known() -> None:
    """14 operators: all edges inside but as many as needed, and a group for each special tag."""
    line = problem_of("--r-------b---")
    parallel = [(0, 1), (0, 5), (0, 9), (4, 13), (8, 13), (12, 13)]
    parallel += [(first + at, first + at + 1) for first in (1, 5, 9) for at in range(3)]
    # Line: 12 edges inside, 1 across, 2 groups. Parallel, red in the middle of one line and blue in
    # that of another: 12 edges inside, 3 across, 2 groups.
    for name in ("tree-dp", "milp", "connection"):
        assert group_operators(line, name).cost == 12 * 5 + 20 + 100, name
    tags = "--r---b-------"
    for name in ("milp", "contraction"):
        assert group_operators(problem_of(tags, parallel), name).cost == 13 * 5 + 2 * 20 + 100


def test_a_batch_line_needs_a_group_for_each_change() -> None:
    problem = problem_of("r-b-r", mode="batch")
    solution = group_operators(problem, "tree-dp")
    # Two changes of image: two edges across, and three groups.
    assert solution.cost == 2 * 5 + 2 * 20 + 150
    assert [group.image for group in solution.grouping] == ["red", "blue", "red"]


def test_most_groups_follow_from_what_a_grouping_costs() -> None:
    problem = problem_of("r-b", mode="batch")
    # 125 less two edges inside leaves 115: two groups of 50.
    assert most_groups(problem, 125) == 2
    free = dataclasses.replace(problem, costs=Costs(group=0))
    assert most_groups(free, 125) == 3


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'couler\[opt\]'") as raised:
        group_operators(problem_of("rb"), "milp")
    assert raised.value.exit_code == 3
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'couler\[cp\]'"):
        group_operators(problem_of("rb", mode="batch"), "cp-sat")


def test_constraint_programming_is_for_batch_steps() -> None:
    with pytest.raises(GroupingError, match="it is of streaming mode; choose milp"):
        group_operators(problem_of("rb"), "cp-sat")


@settings(max_examples=15)
@given(problem=problems(6, "batch", has_lost=True))
def test_constraint_programming_is_exact_for_batch_steps(problem: Problem) -> None:
    pytest.importorskip("ortools", reason="ortools is not installed: pip install 'couler[cp]'")
    solution = group_operators(problem, "cp-sat", seconds=20.0)
    assert violations(problem, solution.grouping) == ()
    # Seconds are rounded to milliseconds in the program.
    assert solution.cost == pytest.approx(best_cost(problem), abs=0.5)
    assert solution.bound is not None
    assert solution.bound <= solution.cost + 1e-6
