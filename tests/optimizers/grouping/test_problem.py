"""Problems say all that is wrong with them, and groupings are judged and priced as by hand."""

from __future__ import annotations

import math

import pytest

from couler.errors import GroupingError
from couler.optimizers.grouping.problem import Costs, Edge, Group, Image, Limits, Operator, Problem
from couler.optimizers.grouping.solution import check, is_acyclic, price, violations
from tests.optimizers.grouping.pipelines import BLUE, RED, problem_of


@pytest.mark.parametrize(
    "wrong",
    [{"intra": 6, "inter": 5}, {"intra": -1}, {"group": math.nan}, {"per_bytes": 0}, {"group": -1}],
)
def test_costs_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(GroupingError, match="these costs make no sense"):
        Costs(**wrong)  # type: ignore[arg-type]  # each is a number


def test_images_that_others_make_superfluous_are_of_no_use() -> None:
    both = RED | BLUE
    problem = Problem(
        operators=(Operator("a", RED), Operator("b")),
        images=(
            Image("plain"),  # red runs all that it does
            Image("red", RED, setup_s=3),
            Image("copy", RED, setup_s=5),  # dearer than red
            Image("both", both, setup_s=9),  # runs no more than red
            Image("green", frozenset({"green"}), setup_s=1),  # runs b alone, for less
        ),
        costs=Costs(per_setup_s=1),
    )
    assert [problem.images[one].name for one in problem.useful_images] == ["plain", "red"]
    # The plain one costs no set-up, so it is better than green, and may be better than red for b.
    assert problem.masks == (0b10, 0b11)
    assert problem.allowed == ((1, 2, 3), (0, 1, 2, 3, 4))


def test_order_ranks_and_levels() -> None:
    problem = problem_of("----", [(3, 0), (0, 2), (3, 2), (1, 2)])
    assert problem.order == (1, 3, 0, 2)
    assert problem.rank == (2, 0, 3, 1)
    assert problem.levels == (1, 0, 2, 0)


def test_price_of_the_papers_costs() -> None:
    # a - b inside, b - c across: 5 + 20, and two groups of 50.
    problem = problem_of("r-b")
    found = price(problem, (Group("red", ("a", "b")), Group("blue", ("c",))))
    assert found == (5, 20, 100, 0, 0)
    assert found.total == 125


def test_price_by_bytes_and_set_up() -> None:
    problem = Problem(
        operators=(Operator("a", RED), Operator("b", BLUE), Operator("c")),
        images=(Image("red", RED, 4), Image("blue", BLUE, 6)),
        edges=(Edge("a", "b", 1500), Edge("b", "c", 500)),
        costs=Costs(intra=1, inter=2, group=10, per_bytes=1000, per_setup_s=0.5),
    )
    found = price(problem, (Group("red", ("a",)), Group("blue", ("b", "c"))))
    assert found == (0.5, 3, 20, 5, 0)


def test_price_of_lost_seconds() -> None:
    # a before b and c, which run together; in one pod with one processor they run in turn.
    costs = Costs(per_lost_s=10)
    problem = problem_of(
        "---", [(0, 1), (0, 2)], costs=costs, mode="batch", seconds=[1, 2, 3], limits=Limits(cpu=1)
    )
    one = (Group("red", ("a", "b", "c")),)
    assert price(problem, one) == (10, 0, 50, 0, 20)


def test_all_violations_are_told_at_once() -> None:
    problem = problem_of("rb-")
    grouping = (Group("red", ("a", "b")), Group("gren", ("b", "d")), Group("red", ()))
    assert violations(problem, grouping) == (
        'group 0: image "red" lacks blue of operator "b"',
        'group 1: there is no image "gren"',
        'group 1: there is no operator "d"',
        "group 2 has no operators",
        'operator "b" is in 2 groups',
        'operator "c" is in no group',
    )
    with pytest.raises(GroupingError, match="does not solve its problem"):
        check(problem, grouping)


def test_circles_are_violations_of_batch_steps_alone() -> None:
    grouping = (Group("red", ("a", "c")), Group("blue", ("b",)))
    assert not is_acyclic(problem_of("rbr"), grouping)
    assert violations(problem_of("rbr"), grouping) == ()
    batch = problem_of("rbr", mode="batch")
    assert violations(batch, grouping) == ("groups wait for each other in a circle",)


def test_order_within_a_group_counts() -> None:
    wrong = (Group("red", ("b", "a")),)
    assert violations(problem_of("--"), wrong) == ('group 0: "b" stands before "a"',)


def test_memory_and_gpus_are_summed_where_all_runs_at_once() -> None:
    operators = (Operator("a", memory_bytes=3, gpus=1), Operator("b", memory_bytes=2, gpus=1))
    one = (Group("i", ("a", "b")),)
    limits = Limits(memory_bytes=4, gpus=1)
    streaming = Problem(operators, (Image("i"),), limits=limits)
    assert violations(streaming, one) == (
        "group 0: memory_bytes is 5, a pod has 4",
        "group 0: gpus is 2, a pod has 1",
    )
    assert violations(Problem(operators, (Image("i"),), limits=limits, mode="batch"), one) == ()
