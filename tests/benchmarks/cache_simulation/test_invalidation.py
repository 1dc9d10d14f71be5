"""What is forgotten when the moment changes is at least what has changed, and not everything."""

from __future__ import annotations

from hypothesis import given, strategies as st

from benchmarks.cache_simulation.importance import (
    Moment,
    reconstruction_cost,
    reuse_value,
    stale_by_end,
    stale_by_keeping,
)
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading
from tests.support.artifact_graphs import artifact_graphs, drawn, moments

READINGS: tuple[Reading, ...] = ("paper", "repaired")


def changed(graph: ArtifactGraph, before: Moment, after: Moment, layers: int) -> set[int]:
    """Return what has changed, by working all out again."""
    return {
        artifact
        for equation in (reconstruction_cost, reuse_value)
        for artifact in range(len(graph.artifacts))
        for reading in READINGS
        if equation(graph, before, artifact, reading=reading, layers=layers)
        != equation(graph, after, artifact, reading=reading, layers=layers)
    }


@given(st.data(), artifact_graphs(), st.integers(0, 4))
def test_all_that_changes_is_told(data: st.DataObject, graph: ArtifactGraph, layers: int) -> None:
    moment = data.draw(moments(graph))
    for artifact in range(len(graph.artifacts)):
        after = moment._replace(kept=moment.kept ^ {artifact})
        truth = changed(graph, moment, after, layers)
        for kept in (moment.kept, after.kept):
            assert truth <= stale_by_keeping(graph, kept, artifact, layers)
    for job in range(len(graph.jobs)):
        after = moment._replace(ended=moment.ended ^ {job})
        truth = changed(graph, moment, after, layers)
        assert truth <= stale_by_end(graph, moment.kept, job, layers)


def test_what_comes_from_outside_changes_nothing() -> None:
    graph = drawn("raw > a > x", "x > b > y")
    assert stale_by_keeping(graph, frozenset(), graph.number["raw"]) == set()
