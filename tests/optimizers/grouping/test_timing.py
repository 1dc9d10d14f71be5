"""What groups take and lose, by hand."""

from __future__ import annotations

import pytest

from couler.optimizers.grouping.problem import Image, Limits, Operator, Problem
from couler.optimizers.grouping.solution import (
    group_seconds,
    longest_path_s,
    lost_seconds,
    work_seconds,
)
from tests.optimizers.grouping.pipelines import problem_of

# a before b and c, both before d: 1, 2, 4 and 3 seconds.
DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))


def diamond(cpu: float | None) -> Problem:
    return problem_of("----", DIAMOND, mode="batch", seconds=[1, 2, 4, 3], limits=Limits(cpu=cpu))


@pytest.mark.parametrize(("cpu", "seconds"), [(None, 8), (1, 10), (2, 8)])
def test_a_group_takes_its_longest_path_or_its_work(cpu: float | None, seconds: float) -> None:
    assert longest_path_s(diamond(cpu)) == 8
    assert group_seconds(diamond(cpu), [0, 1, 2, 3]) == seconds


def test_work_is_counted_for_the_scarcest_resource() -> None:
    operators = (
        Operator("a", cpu=1, memory_bytes=6, gpus=0, seconds=4),
        Operator("b", cpu=1, memory_bytes=2, gpus=1, seconds=9),
    )
    limits = Limits(cpu=2, memory_bytes=6, gpus=1)
    batch = Problem(operators, (Image("i"),), limits=limits, mode="batch")
    # Processors (4 + 9) / 2, memory (24 + 18) / 6, GPUs 9.
    assert work_seconds(batch, [0, 1]) == 9
    assert work_seconds(batch, [0]) == 4
    streaming = Problem(operators, (Image("i"),), limits=Limits(cpu=2), mode="streaming")
    assert work_seconds(streaming, [0, 1]) == 6.5


def test_lost_seconds_of_streams_count_the_busiest_group() -> None:
    seconds = [1.0, 2.0, 4.0, 3.0]
    problem = problem_of("----", DIAMOND, seconds=seconds, limits=Limits(cpu=1))
    # The longest path is 8: only all four, 10, are more.
    assert lost_seconds(problem, [0, 1, 1, 1], [[0], [1, 2, 3]]) == 1
    assert lost_seconds(problem, [0, 0, 0, 0], [[0, 1, 2, 3]]) == 2
    assert lost_seconds(problem, [0, 1, 0, 1], [[0, 2], [1, 3]]) == 0
