"""Rates that are learned of runs, by hand."""

from __future__ import annotations

import math

import pytest

from couler.errors import EstimateError
from couler.operations.throughput import Measurement, Rate, Throughput, learn_throughput

RAN = (
    Measurement(1e9, "low", "decision-tree", 1.0),
    Measurement(1e9, "low", "decision-tree", 4.0),
    Measurement(8e9, "low", "decision-tree", 16.0),
    Measurement(1e9, "high", "decision-tree", 0.25),
    Measurement(6e9, "low", "dense-network", 2.0),
    Measurement(6e9, "low", "dense-network", 6.0),
)


def test_rates_are_medians_of_ratios() -> None:
    """1e9 / 1, 1e9 / 4 and 8e9 / 16: the median is the third."""
    found = learn_throughput(RAN)
    assert found.learned == {
        ("decision-tree", "high"): Rate(4e9, 1),
        ("decision-tree", "low"): Rate(0.5e9, 3),
        ("dense-network", "low"): Rate(2e9, 2),
    }
    assert found.seconds(2e9, "decision-tree", "low") == 4.0


def test_what_was_not_learned_is_theoretical() -> None:
    found = learn_throughput(RAN, theoretical={"low": 1e10}, default_ops_per_s=5e9, least=2)
    assert found.rate("decision-tree", "low") == Rate(0.5e9, 3)
    assert found.rate("decision-tree", "high") == Rate(5e9, 0)  # measured once: too seldom
    assert found.rate("linear-svm", "low") == Rate(1e10, 0)
    assert found.rate("linear-svm", "low").source == "theoretical"
    assert found.rate("dense-network", "low").source == "median of 2 runs"


def test_one_disturbed_run_of_three_does_not_count() -> None:
    calm = [Measurement(1e9, "low", "linear-svm", 1.0)] * 2
    assert learn_throughput([*calm, Measurement(1e9, "low", "linear-svm", 900.0)]) == (
        learn_throughput([*calm, Measurement(1e9, "low", "linear-svm", 0.01)])
    )


def test_tasks_that_tell_nothing_are_left_out() -> None:
    nothing = [Measurement(0, "low", "linear-svm", 5.0), Measurement(5, "low", "linear-svm", 0.0)]
    assert learn_throughput(nothing) == Throughput()


def test_all_wrong_measurements_are_told() -> None:
    wrong = [*RAN, Measurement(-1, "low", "x", 1.0), Measurement(1, "low", "x", math.nan)]
    with pytest.raises(EstimateError) as caught:
        learn_throughput(wrong)
    assert caught.value.problems == (
        "measurement 7: -1 operations in 1 s; both must be numbers of at least 0",
        "measurement 8: 1 operations in nan s; both must be numbers of at least 0",
    )


def test_all_wrong_rates_are_told() -> None:
    with pytest.raises(EstimateError) as caught:
        learn_throughput(RAN, theoretical={"low": 0.0}, default_ops_per_s=-1.0)
    assert [one.partition(" operations")[0] for one in caught.value.problems] == [
        "group low is 0",
        "default_ops_per_s is -1",
    ]
    with pytest.raises(EstimateError, match="least is 0"):
        learn_throughput(RAN, least=0)
