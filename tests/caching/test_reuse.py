"""Reuse values that are kept up to date are those that are worked out anew."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from couler.caching import reuse
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Moment, Reading, jobs_that_depend, reuse_value
from couler.caching.reuse import ReuseValues
from tests.support.artifact_graphs import artifact_graphs, drawn

READINGS: tuple[Reading, ...] = ("paper", "repaired")


@pytest.mark.parametrize("slack", [0, 100])
@given(artifact_graphs(), st.integers(0, 5), st.integers(0, 1000))
def test_after_every_change_values_are_as_worked_out_anew(
    slack: int, graph: ArtifactGraph, layers: int, seed: int
) -> None:
    """What was given up is forgotten at once, or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reuse, "_SLACK", slack)
        check_changes(graph, layers, seed)


def check_changes(graph: ArtifactGraph, layers: int, seed: int) -> None:
    dice = random.Random(seed)
    artifacts = range(len(graph.artifacts))
    kept = {one for one in artifacts if dice.random() < 0.3}
    ended: set[int] = set()
    values = ReuseValues(graph, kept, ended, layers)
    for _ in range(30):
        waiting = [job for job in range(len(graph.jobs)) if job not in ended]
        if waiting and (dice.random() < 0.2 or not artifacts):
            job = dice.choice(waiting)
            ended.add(job)
            values.end(job)
        elif artifacts:
            one = dice.choice(artifacts)
            if one in kept:
                kept.remove(one)
                values.give_up(one)
            else:
                kept.add(one)
                values.keep(one)
        moment = Moment(kept, ended)
        for one in artifacts:
            for reading in READINGS:
                anew = reuse_value(graph, moment, one, reading=reading, layers=layers)
                assert values.of(one, reading) == anew


def test_job_comes_nearer_and_goes_away_again() -> None:
    # e is 2 from x through y, and 3 through z and w.
    graph = drawn("> a > x", "x > b > y", "x > c > z", "z > d > w", "y w > e > v", "v > f >")
    kept: set[int] = set()
    values = ReuseValues(graph, kept, set(), 4)
    x, y, w = (graph.number[name] for name in "xyw")
    # b and c read x; d and e are at 2, f at 3.
    assert values.of(x) == 4 + 2 / 2 + 1 / 3
    kept.add(y)
    values.keep(y)  # e at 3, f at 4
    assert values.of(x) == 4 + 1 / 2 + 1 / 3 + 1 / 4
    kept.add(w)
    values.keep(w)  # e and f are not there any more
    assert values.of(x) == 4 + 1 / 2
    kept.remove(y)
    values.give_up(y)
    assert values.of(x) == 4 + 2 / 2 + 1 / 3


def test_what_comes_back_again_and_again_is_worked_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What many read, and the cache refuses each time that it was missed."""
    count = 20
    lines = ["> split > x", *(f"x > a{number} > y{number}" for number in range(count))]
    graph = drawn(*lines, f"{' '.join(f'y{number}' for number in range(count))} > merge >")
    worked_out: list[int] = []

    def counted(graph: ArtifactGraph, kept: set[int], artifact: int, layers: int) -> dict[int, int]:
        worked_out.append(artifact)
        return jobs_that_depend(graph, kept, artifact, layers)

    monkeypatch.setattr(reuse, "jobs_that_depend", counted)
    kept: set[int] = set()
    values = ReuseValues(graph, kept, set())
    x, *others = (graph.number[name] for name in ("x", *(f"y{one}" for one in range(count))))
    for other in others:
        for one in (x, other):
            kept.add(one)
            values.keep(one)
            assert values.of(one) == reuse_value(graph, Moment(kept), one)
        kept.remove(x)
        values.give_up(x)
    assert worked_out == [x, *others]
    for one in others:  # as nothing is kept, what was given up first is forgotten
        kept.remove(one)
        values.give_up(one)
    values.of(x)
    assert worked_out == [x, *others, x]
