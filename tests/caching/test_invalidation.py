"""What is forgotten when the moment changes is at least what has changed, and not everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Moment, Reading, reconstruction_cost, reuse_value
from couler.caching.invalidation import Stale, stale_by_end, stale_by_keeping
from tests.support.artifact_graphs import artifact_graphs, drawn, moments

READINGS: tuple[Reading, ...] = ("paper", "repaired")


def changed(graph: ArtifactGraph, before: Moment, after: Moment, layers: int) -> Stale:
    """Return what has changed, by working all out again."""
    found = [
        {
            artifact
            for artifact in range(len(graph.artifacts))
            for reading in READINGS
            if equation(graph, before, artifact, reading=reading, layers=layers)
            != equation(graph, after, artifact, reading=reading, layers=layers)
        }
        for equation in (reconstruction_cost, reuse_value)
    ]
    return Stale(*map(frozenset, found))


def named(graph: ArtifactGraph, stale: Stale) -> tuple[set[str], set[str]]:
    reconstruction, reuse = (
        {graph.artifacts[artifact] for artifact in artifacts} for artifacts in stale
    )
    return reconstruction, reuse


@given(st.data(), artifact_graphs(), st.integers(0, 4))
def test_all_that_changes_is_told(data: st.DataObject, graph: ArtifactGraph, layers: int) -> None:
    moment = data.draw(moments(graph))
    for artifact in range(len(graph.artifacts)):
        after = moment._replace(kept=moment.kept ^ {artifact})
        truth = changed(graph, moment, after, layers)
        for kept in (moment.kept, after.kept):
            told = stale_by_keeping(graph, kept, artifact, layers)
            assert truth.reconstruction <= told.reconstruction
            assert truth.reuse <= told.reuse
    for job in range(len(graph.jobs)):
        after = moment._replace(ended=moment.ended ^ {job})
        truth = changed(graph, moment, after, layers)
        assert not truth.reconstruction
        assert truth.reuse <= stale_by_end(graph, moment.kept, job, layers).reuse


def test_only_what_is_near_is_told() -> None:
    graph = drawn(*(f"x{number} > j{number} > x{number + 1}" for number in range(9)))
    # x5 is made by j4 and read by j5. Behind it: what j5, j6 and j7 make; before it: what j4 reads.
    told = named(graph, stale_by_keeping(graph, frozenset(), graph.number["x5"]))
    assert told == ({"x6", "x7", "x8"}, {"x4"})
    # What j5 makes is kept: no farther.
    kept = {graph.number["x6"]}
    assert named(graph, stale_by_keeping(graph, kept, graph.number["x5"])) == ({"x6"}, {"x4"})
    assert named(graph, stale_by_end(graph, frozenset(), 5)) == (set(), {"x5", "x4"})
    kept = {graph.number["x5"]}
    assert named(graph, stale_by_end(graph, kept, 5)) == (set(), {"x5"})


def test_what_comes_from_outside_changes_nothing() -> None:
    graph = drawn("raw > a > x", "x > b > y")
    assert stale_by_keeping(graph, frozenset(), graph.number["raw"]) == Stale()
