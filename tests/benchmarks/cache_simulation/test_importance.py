"""Equations 3 to 6 of the paper against numbers worked by hand, in both readings."""

from __future__ import annotations

import itertools
import math
import typing as t

import pytest
from hypothesis import given, strategies as st

from benchmarks.cache_simulation.importance import (
    Moment,
    jobs_that_depend,
    reconstruction_cost,
    reuse_value,
)
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading, caching_cost, importance
from tests.support.artifact_graphs import artifact_graphs, drawn, moments

READINGS: tuple[Reading, ...] = ("paper", "repaired")

CHAIN = drawn(
    "> a > x",
    "x > b > y",
    "y > c > z",
    "z > d > end",
    resources={"a": 2.0, "b": 3.0, "c": 5.0, "d": 7.0},
)
"""Degrees 1, 2, 2, 1."""

DIAMOND = drawn(
    "> a > x",
    "x > b > y",
    "x > c > z",
    "y z > d > end",
    resources={"a": 10.0, "b": 20.0, "c": 30.0, "d": 40.0},
    seconds={"a": 2.0, "b": 3.0, "c": 7.0, "d": 1.0},
)
"""Degrees 2, 2, 2, 2."""


def both(
    equation: t.Callable[..., float], graph: ArtifactGraph, name: str, *kept: str, **more: t.Any
) -> tuple[float, float]:
    """Return what an equation gives for an artifact, printed and repaired."""
    ended = frozenset(map(graph.jobs.index, more.pop("ended", ())))
    moment = Moment({graph.number[one] for one in kept}, ended)
    printed, repaired = (
        equation(graph, moment, graph.number[name], reading=reading, **more) for reading in READINGS
    )
    return printed, repaired


# Equation 3 -------------------------------------------------------------------------------------


def test_reconstruction_ends_at_what_is_kept() -> None:
    # A hub of three readers; the hub's artifact is kept, and all above it is saved.
    graph = drawn(
        "> raw > r",
        "r > hub > h",
        "h > one > o1",
        "h > two > o2",
        "h > three > o3",
        "o1 o2 o3 > all > end",
        resources={"raw": 100.0, "hub": 50.0},
    )
    # Not kept: one, of degree 2, hub, of degree 4, and raw, of degree 1.
    # Printed: (100 + 1*4) + (50 + 4*2) = 162. Repaired: 100 + 50 + 1, and 4 + 8 = 163.
    assert both(reconstruction_cost, graph, "o1") == (162.0, 163.0)
    assert both(reconstruction_cost, graph, "o1", "h") == (0.0, 1.0)
    # What the hub reads is kept: the hub runs again, raw does not.
    assert both(reconstruction_cost, graph, "o1", "r") == (58.0, 59.0)
    # Being kept oneself, or what others make of the same, saves nothing.
    assert both(reconstruction_cost, graph, "o1", "o1", "o2") == (162.0, 163.0)


# V and Equation 6 -------------------------------------------------------------------------------


def test_caching_cost_is_bytes_as_printed_and_else_a_share() -> None:
    assert caching_cost(250, 1000, reading="paper") == 250.0
    assert caching_cost(250, 1000) == 0.25
    with pytest.raises(ValueError, match="capacity_bytes is 0; it must be above 0"):
        caching_cost(1, 0)


def test_importance_by_hand() -> None:
    # L = e - 1, F = 3, V = ln 2: 1.5 * 1 + 1 * 9 - 1/2, in both readings: 1 - 1/2 is 1/2.
    for reading in READINGS:
        found = importance(math.e - 1, 3.0, math.log(2), reading=reading)
        assert found == pytest.approx(10.0)
    assert importance(math.e - 1, 3.0, 0.0, alpha=2.0, beta=0.5) == pytest.approx(6.5)
    # V = ln 4: printed - 1/4, repaired - 3/4.
    assert importance(0.0, 0.0, math.log(4), reading="paper") == pytest.approx(-0.25)
    assert importance(0.0, 0.0, math.log(4)) == pytest.approx(-0.75)


def test_penalty_rises_as_printed_the_smaller_an_artifact_is_and_vanishes_for_bytes() -> None:
    assert importance(0.0, 0.0, 0.0, reading="paper") == -1.0
    assert importance(0.0, 0.0, 1.0, reading="paper") > importance(0.0, 0.0, 0.5, reading="paper")
    # A kilobyte and ten gigabytes are alike.
    assert importance(1.0, 1.0, 1e3, reading="paper") == importance(1.0, 1.0, 1e10, reading="paper")
    assert importance(0.0, 0.0, 1e10, reading="paper") == 0.0
    # Repaired, what takes more of the cache is worth less.
    assert importance(0.0, 0.0, 0.0) == 0.0
    assert importance(1.0, 1.0, 0.9) < importance(1.0, 1.0, 0.1)


# the equations as sums over all pairs of jobs ----------------------------------------------------


def edges_of(graph: ArtifactGraph, kept: t.AbstractSet[int]) -> set[tuple[int, int]]:
    return {
        (maker, reader)
        for artifact, maker in enumerate(graph.producer)
        for reader in graph.readers[artifact]
        if maker is not None and artifact not in kept
    }


@given(st.data(), artifact_graphs(), st.integers(0, 4))
def test_equations_are_their_sums(data: st.DataObject, graph: ArtifactGraph, layers: int) -> None:
    moment = data.draw(moments(graph))
    edges = edges_of(graph, moment.kept)
    jobs = range(len(graph.jobs))
    degree = [
        sum(job in befores for befores in graph.predecessors) + len(graph.predecessors[job])
        for job in jobs
    ]
    for artifact, maker in enumerate(graph.producer):
        before = {job for job in jobs if job == maker}
        after, distance = set(graph.readers[artifact]) if layers else set(), {}
        distance.update(dict.fromkeys(after, 1))
        for layer in range(layers):
            before |= {one for one, other in edges if other in before}
            if layer:
                after |= {other for one, other in edges if one in after}
                for job in after:
                    distance.setdefault(job, layer + 1)
        printed = sum(
            graph.resources[i] + degree[i] * degree[j]
            for i in before
            for j in before
            if (i, j) in edges
        )
        repaired = sum(graph.resources[i] for i in before) + sum(
            degree[i] * degree[j] for i in before for j in before if (i, j) in edges
        )
        name = graph.artifacts[artifact]
        state: t.Any = {
            "ended": [graph.jobs[job] for job in moment.ended],
            "layers": layers,
        }
        kept = [graph.artifacts[one] for one in moment.kept]
        assert both(reconstruction_cost, graph, name, *kept, **state) == (printed, repaired)
        reads = set(graph.readers[artifact])
        waits = bool(reads - moment.ended)
        assert both(reuse_value, graph, name, *kept, **state) == pytest.approx(
            (
                sum((1 - (job in reads)) / distance[job] for job in after) if waits else 0.0,
                sum((1 + (job in reads)) / distance[job] for job in after - moment.ended),
            )
        )
        assert jobs_that_depend(graph, moment.kept, artifact, layers) == distance


@given(st.data(), artifact_graphs())
def test_keeping_more_never_raises_reconstruction_or_reuse(
    data: st.DataObject, graph: ArtifactGraph
) -> None:
    less = data.draw(moments(graph))
    more = less._replace(kept=less.kept | data.draw(moments(graph)).kept)
    for artifact, reading in itertools.product(range(len(graph.artifacts)), READINGS):
        for equation in (reconstruction_cost, reuse_value):
            before, after = (
                equation(graph, moment, artifact, reading=reading) for moment in (less, more)
            )
            assert after <= before + 1e-9
