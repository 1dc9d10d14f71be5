"""Simulated runs, worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.workloads.grouping_simulation import Platform, simulate
from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.problem import Group, Image, Limits, Operator, Problem
from couler.optimizers.grouping.solution import longest_path_s
from tests.optimizers.grouping.pipelines import problem_of, problems

DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))
ALL = (Group("red", ("a", "b", "c", "d")),)
MIDDLE = (Group("red", ("a",)), Group("red", ("b", "c")), Group("red", ("d",)))


def diamond(cpu: float | None = None) -> Problem:
    return problem_of("----", DIAMOND, mode="batch", seconds=[1, 2, 4, 3], limits=Limits(cpu=cpu))


@pytest.mark.parametrize(("cpu", "total"), [(None, 8), (1, 10), (2, 8)])
def test_processors_say_how_much_of_a_pod_runs_at_a_time(cpu: float | None, total: float) -> None:
    assert simulate(diamond(cpu), ALL, Platform()).total_s == total


def test_spans_of_a_batch_run() -> None:
    run = simulate(diamond(1), ALL, Platform(pod_s=2))
    spans = [(span.operator, span.begins_s, span.ends_s) for span in run.spans]
    assert spans == [("a", 2, 3), ("b", 3, 5), ("c", 5, 9), ("d", 9, 12)]
    assert (run.total_s, run.started_s) == (12, 2)
    assert (run.setup_s, run.pods_s) == (2, 12)


def test_pods_are_set_up_and_edges_take_time() -> None:
    platform = Platform(pod_s=10, inside_s=0.5, between_s=1)
    # a: 10 to 11. b and c: set up until 21, sent until 22, end 24 and 26. d: 36, 37, 40.
    run = simulate(diamond(), MIDDLE, platform)
    assert run.total_s == 40
    assert run.setup_s == 30
    # The pods: 0 to 11, 11 to 26, 26 to 40.
    assert run.pods_s == 40
    # All in one: 10, a until 11, b and c from 11.5, c until 15.5, d from 16.
    assert simulate(diamond(), ALL, platform).total_s == 19


def test_memory_and_gpus_make_batch_steps_wait() -> None:
    operators = (
        Operator("a", memory_bytes=3, seconds=2),
        Operator("b", memory_bytes=2, gpus=1, seconds=2),
        Operator("c", memory_bytes=1, gpus=1, seconds=1),
    )
    one = (Group("i", ("a", "b", "c")),)
    limits = Limits(memory_bytes=4, gpus=1)
    problem = Problem(operators, (Image("i"),), limits=limits, mode="batch")
    # b does not fit beside a; c does, until 1; b begins when a has ended.
    run = simulate(problem, one, Platform())
    assert [(span.begins_s, span.ends_s) for span in run.spans] == [(0, 2), (2, 4), (0, 1)]


def test_messages_of_a_stream_overlap() -> None:
    problem = problem_of("---", seconds=[1, 2, 1], limits=Limits(cpu=1))
    alone = tuple(Group("red", (name,)) for name in "abc")
    # A line of 1, 2 and 1 s, with three messages: the slowest sets the pace, 1 + 3 * 2 + 1.
    assert simulate(problem, alone, Platform(messages=3)).total_s == 8
    # In one pod with one processor nothing overlaps: 3 * 4.
    one = (Group("red", ("a", "b", "c")),)
    assert simulate(problem, one, Platform(messages=3)).total_s == 12
    # Groups that wait for each other are no trouble to a stream.
    circle = (Group("red", ("a", "c")), Group("red", ("b",)))
    assert simulate(problem, circle, Platform(messages=3)).total_s == 8


@given(
    problem=problems(),
    method=st.sampled_from(["none", "random", "connection", "contraction"]),
    pods=st.sampled_from([None, 1, 2]),
    setups=st.sampled_from([None, 1, 2]),
)
def test_runs_keep_order_and_room(
    problem: Problem, method: str, pods: int | None, setups: int | None
) -> None:
    is_batch = problem.mode == "batch"
    platform = Platform(
        pod_s=1, between_s=0.5, most_pods=pods if is_batch else None, setups_at_once=setups
    )
    grouping = group_operators(problem, method).grouping
    run = simulate(problem, grouping, platform)
    assert run == simulate(problem, grouping, platform)
    by_name = {span.operator: span for span in run.spans}
    for edge in problem.edges:
        assert by_name[edge.before].ends_s <= by_name[edge.after].begins_s
    assert run.total_s >= longest_path_s(problem) + 1
    for span in run.spans:
        held = [
            problem.operators[problem.index[other.operator]]
            for other in run.spans
            if other.group == span.group and other.begins_s <= span.begins_s < other.ends_s
        ]
        assert sum(one.cpu for one in held) <= (problem.limits.cpu or 0) + 1e-9
        if is_batch and problem.limits.memory_bytes is not None:
            assert sum(one.memory_bytes for one in held) <= problem.limits.memory_bytes
        if is_batch and problem.limits.gpus is not None:
            assert sum(one.gpus for one in held) <= problem.limits.gpus
    if is_batch:
        ends = dict.fromkeys(range(len(grouping)), 0.0)
        begins = dict.fromkeys(range(len(grouping)), run.total_s)
        for span in run.spans:
            ends[span.group] = max(ends[span.group], span.ends_s)
            begins[span.group] = min(begins[span.group], span.begins_s)
        for edge in problem.edges:
            before, after = by_name[edge.before].group, by_name[edge.after].group
            assert before == after or ends[before] + 1 <= begins[after]
