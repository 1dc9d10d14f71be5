"""Steps that could run side by side are not put into a pod in which they run in turn, unasked."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given as drawn, strategies as st

from couler.ir.policies import Gpu, Profile, Resources
from couler.ir.workflow import Step, Workflow
from couler.optimizers.grouped.needs import operator_of, pod_needs
from couler.optimizers.grouping.problem import Edge, Image, Limits, Problem
from couler.optimizers.grouping.solution import group_seconds
from tests.corpus.build import flow, py
from tests.optimizers.grouped.flows import names, run


def asks(
    name: str,
    *after: str,
    cpu: str | None = "1",
    memory: str | None = "1Gi",
    seconds: float | None = 600,
    gpus: int = 0,
) -> Step:
    gpu = Gpu(count=gpus) if gpus else None
    return py(
        name,
        "1",
        depends_on=after,
        resources=Resources(cpu=cpu, memory=memory, gpu=gpu),
        profile=None if seconds is None else Profile(seconds=seconds),
    )


def wide(seconds: float | None = 600, count: int = 8, **fields: t.Any) -> Workflow:
    fan = [asks(f"t{n}", seconds=seconds, **fields) for n in range(count)]
    return flow("w", *fan, asks("best", *(one.name for one in fan), seconds=5))


def test_a_wide_fan_is_grouped_where_it_is_small_or_that_is_asked_for() -> None:
    assert len(names(run(wide())[0])) == 9
    made, context = run(wide(), per_lost_s=0)
    assert len(names(made)) == 1
    assert "The critical path is 4,805.0 s, and was 605.0 s." in context.reason
    assert len(names(run(wide(seconds=0.5))[0])) == 1
    # A pod starts in two seconds: that is what one less is worth.
    assert len(names(run(wide(seconds=3))[0])) == 9


def test_where_nothing_is_known_of_seconds() -> None:
    assert len(names(run(wide(seconds=None))[0])) == 9
    assert len(names(run(wide(seconds=None), cpu=8)[0])) == 1
    assert len(names(run(wide(seconds=None), per_lost_s=0)[0])) == 1
    chain = [asks(f"c{n}", *([f"c{n - 1}"] if n else []), seconds=None) for n in range(4)]
    assert names(run(flow("w", *chain))[0]) == ["c0-to-c3"]
    silent = [asks(f"s{n}", cpu=None, memory=None, seconds=None) for n in range(20)]
    assert len(names(run(flow("w", *silent))[0])) == 1  # as many as there are processors
    # Three that are not known beside a chain of three: it is not known that they have time.
    beside = [asks(f"b{n}", seconds=None) for n in range(3)]
    made, _ = run(flow("w", *chain[:3], *beside))
    assert names(made) == ["c0-to-c2", "b0", "b1", "b2"]


def test_what_is_not_known_of_others_hides_no_seconds_that_are_lost() -> None:
    """If c1 is as short as c0, two trainings in turn make the run twice as long."""
    chain = asks("c0", seconds=1), asks("c1", "c0", seconds=None)
    made, _ = run(flow("w", asks("t0"), asks("t1"), *chain))
    assert names(made) == ["t0", "t1", "c0-to-c1"]


@pytest.mark.parametrize(
    ("options", "cpu", "memory"),
    [
        ({"cpu": 8}, "8", "8Gi"),
        ({"cpu": 4}, "4", "4Gi"),
        ({"memory_bytes": 3 << 30}, "3", "3Gi"),
        ({"cpu": 8, "memory_bytes": 2 << 30}, "2", "2Gi"),
        ({"cpu": 99, "memory_bytes": 99 << 30}, "8", "8Gi"),
        ({"cpu": 8, "max_parallel": 3}, "3", "3Gi"),
        ({}, "1", "1Gi"),
    ],
)
def test_nothing_is_asked_for_that_cannot_be_used(
    options: dict[str, t.Any], cpu: str, memory: str
) -> None:
    [made] = run(wide(), per_lost_s=0, **options)[0].steps
    assert made.resources == Resources(cpu=cpu, memory=memory)


def test_steps_that_have_a_gpu_in_turn_ask_for_the_processors_of_one() -> None:
    steps = [asks(f"s{n}", gpus=1) for n in range(3)]
    [made] = run(flow("w", *steps), per_lost_s=0, cpu=8)[0].steps
    assert made.resources == Resources(cpu="1", memory="1Gi", gpu=Gpu(count=1))


def test_why_steps_that_can_share_a_pod_do_not() -> None:
    steps = asks("prep"), asks("train", "prep", gpus=1), asks("report", "train")
    _, context = run(flow("w", *steps))
    assert context.reason.startswith("No steps are put together. ")
    for pair in ("prep and train", "train and report"):
        assert f"{pair} cannot share a pod: they differ in the kind of GPU" in context.reason
    _, context = run(flow("w", asks("a")))
    assert context.reason == "No steps are put together."


AMOUNTS = st.sampled_from([None, "500m", "1", "2"])


@drawn(
    steps=st.lists(
        st.tuples(AMOUNTS, AMOUNTS, st.integers(1, 9), st.integers(0, 1), st.integers(-3, 3)),
        min_size=1,
        max_size=7,
    ),
    limits=st.builds(
        Limits,
        st.sampled_from([None, 2.0, 4.0]),
        st.sampled_from([None, 4]),
        st.none(),
        st.sampled_from([None, 2]),
        st.just(True),
    ),
)
def test_one_model_for_those_who_choose_and_for_the_pod(
    steps: list[tuple[str | None, str | None, int, int, int]], limits: Limits
) -> None:
    """What a group is taken to last when it is chosen is what its step says of itself."""
    made = [
        asks(
            f"s{n}",
            *([f"s{n + after}"] if 0 <= n + after < n else []),
            cpu=cpu,
            memory=memory and memory.replace("500m", "1"),
            seconds=seconds,
            gpus=gpus,
        )
        for n, (cpu, memory, seconds, gpus, after) in enumerate(steps)
    ]
    after = {one.name: [str(name) for name in one.depends_on] for one in made}
    needs = pod_needs(made, after, limits)
    problem = Problem(
        tuple(operator_of(one, limits) for one in made),
        (Image("i"),),
        tuple(Edge(before, name) for name, befores in after.items() for before in befores),
        limits=limits,
        mode="batch",
    )
    assert needs.profile is not None
    assert needs.profile.seconds == pytest.approx(group_seconds(problem, range(len(made))))
