"""pass@k by hand, and by trying all choices."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from benchmarks.nl.metrics import Tried, mean_pass_at_k, pass_at_k


@pytest.mark.parametrize(
    ("samples", "right", "k", "expected"),
    [
        (5, 2, 1, 0.4),
        (5, 2, 3, 0.9),  # 1 - C(3, 3) / C(5, 3) = 1 - 1 / 10
        (5, 2, 5, 1.0),
        (5, 1, 3, 0.6),  # 1 - C(4, 3) / C(5, 3) = 1 - 4 / 10
        (10, 3, 2, 1 - 21 / 45),
        (1, 0, 1, 0.0),
        (1, 1, 1, 1.0),
    ],
)
def test_by_hand(samples, right, k, expected):
    assert pass_at_k(samples, right, k) == pytest.approx(expected, abs=1e-15)


@given(st.data())
def test_is_the_mean_over_all_choices(data):
    samples = data.draw(st.integers(1, 8))
    right = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    answers = [index < right for index in range(samples)]
    choices = list(combinations(answers, k))
    assert pass_at_k(samples, right, k) == pytest.approx(sum(map(any, choices)) / len(choices))


@pytest.mark.parametrize(("samples", "right", "k"), [(2, 1, 3), (2, 3, 1), (2, -1, 1), (2, 1, 0)])
def test_what_cannot_be_estimated(samples, right, k):
    with pytest.raises(ValueError, match="pass@"):
        pass_at_k(samples, right, k)


def test_mean_over_tasks_with_interval():
    tasks = [Tried("a", 2, 2), Tried("a", 2, 0), Tried("b", 2, 1), Tried("c", 1, 1)]
    found = mean_pass_at_k(tasks, 2, seed=3)
    # "c" has too few answers; "b" gives 1 - C(1, 2) / C(2, 2) = 1
    assert found.value == pytest.approx(2 / 3)
    assert found.tasks == 3
    assert found == mean_pass_at_k(tasks, 2, seed=3)
    assert found.low <= found.value <= found.high
    # drawn are a and b: both a gives 1/2, both b gives 1, one of each 2/3
    assert (found.low, found.high) == (0.5, 1.0)


def test_items_are_drawn_whole():
    # 50 descriptions of one item that all fail or all pass tell of one item, not of 50
    alike = [Tried("one", 1, 1)] * 50 + [Tried("two", 1, 0)] * 50
    found = mean_pass_at_k(alike, 1)
    assert (found.low, found.high) == (0.0, 1.0)
    own = [Tried(f"item {number}", 1, number % 2) for number in range(100)]
    tighter = mean_pass_at_k(own, 1)
    assert 0.35 < tighter.low < tighter.value == 0.5 < tighter.high < 0.65


def test_no_task_has_enough():
    assert mean_pass_at_k([Tried("a", 2, 1)], 3) is None
