"""Simulated runs of groups, worked out by hand."""

from __future__ import annotations

import graphlib
import importlib
import typing as t
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.problem import Group, Image, Limits, Operator, Problem
from couler.optimizers.grouping.solution import (
    assemble_members,
    longest_path_s,
    lost_seconds,
    numbers_of,
)
from tests.optimizers.grouping.pipelines import grouping_of, partitions, problem_of, problems

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))
ALL = (Group("red", ("a", "b", "c", "d")),)
MIDDLE = (Group("red", ("a",)), Group("red", ("b", "c")), Group("red", ("d",)))


@pytest.fixture(scope="module")
def simulation() -> t.Iterator[t.Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("workloads.grouping_simulation")


def diamond(cpu: float | None = None) -> Problem:
    return problem_of("----", DIAMOND, mode="batch", seconds=[1, 2, 4, 3], limits=Limits(cpu=cpu))


@pytest.mark.parametrize(("cpu", "total"), [(None, 8), (1, 10), (2, 8)])
def test_processors_say_how_much_of_a_pod_runs_at_a_time(
    simulation: t.Any, cpu: float | None, total: float
) -> None:
    assert simulation.simulate(diamond(cpu), ALL, simulation.Platform()) == total


def test_pods_are_set_up_and_edges_take_time(simulation: t.Any) -> None:
    platform = simulation.Platform(pod_s=10, inside_s=0.5, between_s=1)
    # a: 10 to 11. b and c: set up until 21, sent until 22, end 24 and 26. d: 36, 37, 40.
    assert simulation.simulate(diamond(), MIDDLE, platform) == 40
    # All in one: 10, a until 11, b and c from 11.5, c until 15.5, d from 16.
    assert simulation.simulate(diamond(), ALL, platform) == 19


def test_memory_and_gpus_make_batch_steps_wait(simulation: t.Any) -> None:
    operators = (
        Operator("a", memory_bytes=3, seconds=2),
        Operator("b", memory_bytes=2, gpus=1, seconds=2),
        Operator("c", memory_bytes=1, gpus=1, seconds=1),
    )
    one = (Group("i", ("a", "b", "c")),)
    limits = Limits(memory_bytes=4, gpus=1)
    problem = Problem(operators, (Image("i"),), limits=limits, mode="batch")
    # b does not fit beside a; c does, until 1; b begins when a has ended.
    assert simulation.simulate(problem, one, simulation.Platform()) == 4


def test_messages_of_a_stream_overlap(simulation: t.Any) -> None:
    problem = problem_of("---", seconds=[1, 2, 1], limits=Limits(cpu=1))
    platform = simulation.Platform(messages=3)
    alone = tuple(Group("red", (name,)) for name in "abc")
    # A line of 1, 2 and 1 s, with three messages: the slowest sets the pace, 1 + 3 * 2 + 1.
    assert simulation.simulate(problem, alone, platform) == 8
    # In one pod with one processor nothing overlaps: 3 * 4.
    one = (Group("red", ("a", "b", "c")),)
    assert simulation.simulate(problem, one, platform) == 12
    # Groups that wait for each other are no trouble to a stream.
    circle = (Group("red", ("a", "c")), Group("red", ("b",)))
    assert simulation.simulate(problem, circle, platform) == 8


@given(
    problem=problems(),
    method=st.sampled_from(["none", "random", "connection", "contraction"]),
    setups=st.sampled_from([None, 1, 2]),
)
def test_a_run_takes_its_longest_path_and_a_pod(
    simulation: t.Any, problem: Problem, method: str, setups: int | None
) -> None:
    platform = simulation.Platform(pod_s=1, between_s=0.5, setups_at_once=setups)
    grouping = group_operators(problem, method).grouping
    assert simulation.simulate(problem, grouping, platform) >= longest_path_s(problem) + 1


@given(problem=problems(6, "batch", has_limits=False))
def test_the_model_is_a_bound_of_what_is_simulated(simulation: t.Any, problem: Problem) -> None:
    """Pods take at least what the model says, and exactly that with a step at a time."""
    platform = simulation.Platform(is_warm=True)
    for groups in partitions(len(problem.operators)):
        if len(groups) != 2 or grouping_of(problem, groups) is None:
            continue
        grouping = assemble_members(problem, groups)
        members = [[problem.index[name] for name in group.operators] for group in grouping]
        try:
            lost = lost_seconds(problem, numbers_of(problem, grouping), members)
        except graphlib.CycleError:
            continue
        total = simulation.simulate(problem, grouping, platform)
        model = longest_path_s(problem) + lost
        if problem.limits.cpu == 1:
            assert total == pytest.approx(model)
        assert model - 1e-9 <= total <= 2 * model + 1e-9
