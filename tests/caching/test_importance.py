"""Equations 3 to 6 of the paper against numbers worked by hand, in both readings."""

from __future__ import annotations

import itertools
import math
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.cache_simulation.importance import (
    Moment,
    dependency_weight,
    jobs_that_depend,
    jobs_to_repeat,
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


def test_reconstruction_of_a_chain() -> None:
    # z: c, and two layers before it. Edges a-b and b-c, of degrees 1*2 and 2*2.
    # Printed: (2 + 2) + (3 + 4) = 11. Repaired: 2 + 3 + 5, and 2 + 4 = 16.
    assert both(reconstruction_cost, CHAIN, "z") == (11.0, 16.0)
    # end: d, c and b; a is three layers away. Edges b-c and c-d, 2*2 and 2*1.
    # Printed: (3 + 4) + (5 + 2) = 14. Repaired: 3 + 5 + 7, and 4 + 2 = 21.
    assert both(reconstruction_cost, CHAIN, "end") == (14.0, 21.0)
    # With three layers, a and the edge a-b as well: 2 + 2 more, in either reading.
    assert both(reconstruction_cost, CHAIN, "end", layers=3) == (18.0, 25.0)
    # With none, d alone, which as printed costs nothing.
    assert both(reconstruction_cost, CHAIN, "end", layers=0) == (0.0, 7.0)


def test_reconstruction_of_a_diamond_pays_a_job_for_each_reader_only_as_printed() -> None:
    # Four edges of 2*2. Printed: a twice, b, c: (10 + 4) * 2 + (20 + 4) + (30 + 4) = 86.
    # Repaired: 10 + 20 + 30 + 40, and 4 * 4 = 116.
    assert both(reconstruction_cost, DIAMOND, "end") == (86.0, 116.0)
    # y kept: b need not run, a still must for c. Edges a-c and c-d.
    # Printed: (10 + 4) + (30 + 4) = 48. Repaired: 10 + 30 + 40, and 8 = 88.
    assert both(reconstruction_cost, DIAMOND, "end", "y") == (48.0, 88.0)
    # x kept: b and c read it. Printed: (20 + 4) + (30 + 4) = 58. Repaired: 90, and 8 = 98.
    assert both(reconstruction_cost, DIAMOND, "end", "x") == (58.0, 98.0)


def test_job_that_reads_nothing_costs_nothing_as_printed() -> None:
    assert both(reconstruction_cost, CHAIN, "x") == (0.0, 2.0)


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


def test_job_of_which_only_some_artifacts_are_kept_runs_for_the_others() -> None:
    graph = drawn("> a > x y", "x y > b > z", resources={"a": 8.0})
    # a and b have one edge, however much is read on it; degrees 1 and 1.
    assert both(reconstruction_cost, graph, "z") == (9.0, 10.0)
    assert both(reconstruction_cost, graph, "z", "x") == (9.0, 10.0)
    assert both(reconstruction_cost, graph, "z", "x", "y") == (0.0, 1.0)


def test_who_only_waits_needs_nothing_made_again_but_has_the_degree() -> None:
    graph = drawn("> a > x", "> b > y", "y > c > z", waits={"b": "a"}, resources={"a": 99.0})
    # b has degree 2 by the wait: printed 1 + 2*1, repaired 1 + 1 + 2.
    assert both(reconstruction_cost, graph, "z") == (3.0, 4.0)


def test_what_comes_from_outside_is_not_reconstructed() -> None:
    graph = drawn("raw > a > x")
    assert both(reconstruction_cost, graph, "raw") == (0.0, 0.0)
    assert both(reconstruction_cost, graph, "x") == (0.0, 1.0)


def test_edges_inside_the_last_layer_count() -> None:
    graph = drawn("> t > w", "w > e > v", "w v > z > end")
    # Within one layer before z there are t and e, and one reads from the other. All degrees are
    # 2, so each of the edges t-z, e-z and t-e is 1 + 4 as printed; repaired, 3 jobs and 3 * 4.
    assert jobs_to_repeat(graph, frozenset(), graph.number["end"], 1) == {2: 0, 0: 1, 1: 1}
    assert both(reconstruction_cost, graph, "end", layers=1) == (15.0, 15.0)


# Equations 4 and 5 ------------------------------------------------------------------------------


def test_weight_of_a_reader_is_the_least_as_printed() -> None:
    assert dependency_weight(1, reading="paper") == -1
    assert dependency_weight(0, reading="paper") == 0
    assert dependency_weight(0, 3, reading="paper") == 3
    assert dependency_weight(1) == 1
    assert dependency_weight(0) == 0


def test_reuse_along_a_chain() -> None:
    # x: b reads it, c is two reads away. Printed: (-1+1)/1 + (0+1)/2. Repaired: 2/1 + 1/2.
    assert both(reuse_value, CHAIN, "x") == (0.5, 2.5)
    # Three layers: d at a third.
    assert both(reuse_value, CHAIN, "x", layers=3) == pytest.approx((0.5 + 1 / 3, 2.5 + 1 / 3))
    # One layer: readers alone, which have no weight as printed.
    assert both(reuse_value, CHAIN, "x", layers=1) == (0.0, 2.0)
    assert both(reuse_value, CHAIN, "x", layers=0) == (0.0, 0.0)


def test_direct_reader_has_no_weight_as_printed() -> None:
    assert both(reuse_value, CHAIN, "z") == (0.0, 2.0)
    assert both(reuse_value, CHAIN, "end") == (0.0, 0.0)


def test_reuse_in_a_diamond_counts_a_job_once_at_its_shortest_way() -> None:
    # x: b and c read it, d is two away on both ways.
    assert both(reuse_value, DIAMOND, "x") == (0.5, 4.5)
    graph = drawn("> a > x", "x > b > y", "x y > c >")
    # c reads x, though it is two away through y as well.
    assert both(reuse_value, graph, "x") == (0.0, 4.0)


def test_jobs_that_have_ended_reuse_nothing() -> None:
    # b has ended, c has not: printed, r still holds, and counts all; repaired 2 + 1/2.
    assert both(reuse_value, DIAMOND, "x", ended="ab") == (0.5, 2.5)
    # Both readers have: printed nothing; repaired d remains, which needs x if y is made again.
    assert both(reuse_value, DIAMOND, "x", ended="abc") == (0.0, 0.5)
    assert both(reuse_value, DIAMOND, "x", ended="abcd") == (0.0, 0.0)


def test_reuse_ends_at_what_is_kept() -> None:
    # y kept and z not: d still needs x by way of c. Both kept: it does not.
    assert both(reuse_value, DIAMOND, "x", "y", ended="abc") == (0.0, 0.5)
    assert both(reuse_value, DIAMOND, "x", "y", "z", ended="abc") == (0.0, 0.0)
    assert both(reuse_value, DIAMOND, "x", "y", "z") == (0.0, 4.0)
    # Whether x itself is kept plays no part.
    assert both(reuse_value, DIAMOND, "x", "x") == (0.5, 4.5)


def test_what_comes_from_outside_is_reused_too() -> None:
    graph = drawn("raw > a > x", "x > b >")
    assert both(reuse_value, graph, "raw") == (0.5, 2.5)


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


@settings(max_examples=40)
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


@settings(max_examples=30)
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
