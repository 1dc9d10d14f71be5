"""Algorithm 2 in both forms, and the running example of Figure 4 step by step."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from couler.caching.algorithm2 import Form, Step, Trace, run_algorithm_2
from couler.caching.cache import BudgetedCache
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import ImportanceFactor, Moment
from couler.caching.policies.couler import ImportanceAsPrinted, ImportanceRepaired
from couler.caching.run_knowledge import RunKnowledge
from tests.support.artifact_graphs import artifact_graphs, drawn

SIZES = {"a1": 20, "a2": 20, "a3": 20, "a4": 20, "a5": 15, "a6": 30}
"""Of the artifacts in Figure 4; a1 to a5 take 95 bytes."""

WEIGHTS = {"J1": 10.0, "J2": 20.0, "J3": 30.0, "J4": 40.0, "J5": 5.0}


def done(trace: Trace, artifact: str) -> list[tuple[str, str, int]]:
    """Return what was done when an artifact was decided on: action, artifact, bytes used."""
    names = trace.graph.artifacts
    return [(step.action, names[step.artifact], step.used_bytes) for step in of(trace, artifact)]


def of(trace: Trace, artifact: str) -> list[Step]:
    return [step for step in trace.steps if step.newcomer == trace.graph.number[artifact]]


def kept(trace: Trace) -> list[str]:
    return [trace.graph.artifacts[artifact] for artifact in trace.kept]


def overfull(trace: Trace) -> list[int]:
    """Return what was kept after each step that left more than there is room for."""
    return [step.used_bytes for step in trace.steps if step.used_bytes > trace.capacity_bytes]


def scores(trace: Trace, step: Step) -> dict[str, tuple[float, float, float, float]]:
    """Return L, F, V and I of what was compared, with three digits of I."""
    return {
        trace.graph.artifacts[artifact]: (*score[:3], round(score.importance, 3))
        for artifact, score in step.scores.items()
    }


# Figure 4 ---------------------------------------------------------------------------------------
#
# The text gives the course, the picture has the numbers: these are our own. J1 to J6 have ended,
# J7 is running, J8 and J9 wait; there is room for 100 bytes, and a1 to a5 take 95 of them.


def figure_4(*last: str, w6: float) -> ArtifactGraph:
    return drawn(
        "> J1 > a1",
        "a1 > J2 > a2",
        "a1 > J3 > a3",
        "a2 > J4 > a4",
        "a3 > J5 > a5",
        "a4 a5 > J6 > a6",
        *last,
        sizes=SIZES,
        resources={**WEIGHTS, "J6": w6},
    )


def test_figure_4_newcomer_replaces_what_is_worth_less_until_it_fits() -> None:
    graph = figure_4("a1 a6 > J7 > a7", "a2 a3 a6 > J8 > a8", "a4 a7 a8 > J9 > a9", w6=60.0)
    trace = run_algorithm_2(graph, 100, jobs=range(6))

    # Up to J5 all fits: 20, 40, 60, 80, 95.
    assert [(step.action, step.used_bytes) for step in trace.steps[:5]] == [
        ("keep", 20),
        ("keep", 40),
        ("keep", 60),
        ("keep", 80),
        ("keep", 95),
    ]
    # J6 ends: a6 would make 125. a5 goes (110), then a4 (90), then it fits.
    assert done(trace, "a6") == [("evict", "a5", 80), ("evict", "a4", 60), ("keep", "a6", 90)]
    first, second, _ = of(trace, "a6")

    # All that is read is kept, so L is the w of the one job: 10, 20, 30, 40, 5, 60.
    # F counts the readers that have not ended twice, and those of what is not kept by half:
    #   a1: J7 (2), and J9 by way of a7 (1/2)    a2, a3: J8 (2), and J9 by way of a8 (1/2)
    #   a4: J9 (2)    a5: none, as J6 has ended   a6: J7 and J8 (4), and J9 (1/2)
    # I = 1.5 log(1 + L) + F^2 - (1 - exp(-V)), where V is 0.2, 0.15 for a5 and 0.3 for a6:
    #   1 - exp(-0.2) = 0.1813, 1 - exp(-0.15) = 0.1393, 1 - exp(-0.3) = 0.2592
    #   a1: 1.5 * 2.3979 + 6.25 - 0.1813 = 9.666     a2: 1.5 * 3.0445 + 6.25 - 0.1813 = 10.636
    #   a3: 1.5 * 3.4340 + 6.25 - 0.1813 = 11.220    a4: 1.5 * 3.7136 + 4 - 0.1813 = 9.389
    #   a5: 1.5 * 1.7918 + 0 - 0.1393 = 2.548        a6: 1.5 * 4.1109 + 20.25 - 0.2592 = 26.157
    assert scores(trace, first) == {
        "a1": (10.0, 2.5, 0.2, 9.666),
        "a2": (20.0, 2.5, 0.2, 10.636),
        "a3": (30.0, 2.5, 0.2, 11.220),
        "a4": (40.0, 2.0, 0.2, 9.389),
        "a5": (5.0, 0.0, 0.15, 2.548),
        "a6": (60.0, 4.5, 0.3, 26.157),
    }
    # Without a5, making a6 again takes J5 too: w 5, and the edge J5-J6 of degrees 2 and 4.
    #   L = 60 + 5 + 8 = 73: 1.5 * 4.3041 + 20.25 - 0.2592 = 26.447
    # The others are as they were, and a4 is the next lowest.
    assert scores(trace, second) == {
        "a1": (10.0, 2.5, 0.2, 9.666),
        "a2": (20.0, 2.5, 0.2, 10.636),
        "a3": (30.0, 2.5, 0.2, 11.220),
        "a4": (40.0, 2.0, 0.2, 9.389),
        "a6": (73.0, 4.5, 0.3, 26.447),
    }
    assert kept(trace) == ["a1", "a2", "a3", "a6"]
    assert not overfull(trace)


def test_figure_4_newcomer_is_refused_by_the_first_that_is_worth_more() -> None:
    # Here J9 alone reads a6, and J6 is cheap.
    graph = figure_4("a1 > J7 > a7", "a2 a3 > J8 > a8", "a4 a6 a7 a8 > J9 > a9", w6=1.0)
    trace = run_algorithm_2(graph, 100, jobs=range(6))

    # a5 goes for a6, which then meets a4 that is worth more; so a5 is put back.
    assert done(trace, "a6") == [("evict", "a5", 80), ("refuse", "a6", 80), ("put back", "a5", 95)]
    first, second, _ = of(trace, "a6")
    # a6: L = 1, F = 2 for J9: 1.5 * 0.6931 + 4 - 0.2592 = 4.781, above the 2.548 of a5.
    assert scores(trace, first)["a6"] == (1.0, 2.0, 0.3, 4.781)
    assert scores(trace, first)["a5"] == (5.0, 0.0, 0.15, 2.548)
    # Without a5: L = 1 + 5 + 2 * 3 = 12: 1.5 * 2.5649 + 4 - 0.2592 = 7.588, below 9.389 of a4.
    assert scores(trace, second)["a6"] == (12.0, 2.0, 0.3, 7.588)
    assert scores(trace, second)["a4"] == (40.0, 2.0, 0.2, 9.389)
    assert min(scores(trace, second).values(), key=lambda one: one[3])[3] == 7.588
    assert kept(trace) == ["a1", "a2", "a3", "a4", "a5"]


def test_figure_4_as_printed_comes_above_the_room_and_never_compares_the_newcomer() -> None:
    graph = figure_4("a1 > J7 > a7", "a2 a3 > J8 > a8", "a4 a6 a7 a8 > J9 > a9", w6=1.0)
    printed = ImportanceFactor(reading="paper")
    trace = run_algorithm_2(graph, 100, form="printed", factor=printed, jobs=range(7))

    # Line 10: 95 is less than 100, so a6 goes in beside all else.
    assert done(trace, "a6") == [("keep", "a6", 125)]
    assert overfull(trace) == [125, 126, 111]
    # J7 ends. L as printed is 0 where all that is read is kept: for all here. F leaves out readers:
    #   a1: J9 by way of a7, 1/2, but J2, J3 and J7, who read it, have ended: r is 0
    #   a2, a3: J9 by way of a8, 1/2, and J8, who reads them, has not ended    a4, a5, a6: 0
    # I = F^2 - exp(-V) with V of 15 bytes and more: 0.25 for a2 and a3, below 0 by a hair else,
    # the most for a5, the smallest: exp(-15) = 3e-7, exp(-20) = 2e-9, exp(-30) = 9e-14.
    (_, first, second) = of(trace, "a7")
    assert done(trace, "a7") == [("keep", "a7", 126), ("evict", "a5", 111), ("evict", "a1", 91)]
    values = {name: score[:2] for name, score in scores(trace, first).items()}
    assert values == {
        "a1": (0.0, 0.0),
        "a2": (0.0, 0.5),
        "a3": (0.0, 0.5),
        "a4": (0.0, 0.0),
        "a5": (0.0, 0.0),
        "a6": (0.0, 0.0),
    }
    assert {round(score.importance, 6) for score in first.scores.values()} == {0.25, 0.0}
    assert first.scores[graph.number["a5"]].importance == -math.exp(-15)
    # The scores are not worked out again, and a7 has none.
    assert scores(trace, second) == {
        name: score for name, score in scores(trace, first).items() if name != "a5"
    }


# the slips one by one ---------------------------------------------------------------------------

LINE = drawn("> a > x", "> b > y", "x y > c > z", sizes={"x": 60, "y": 40, "z": 70})


def test_full_cache_passes_over_a_newcomer_as_printed() -> None:
    trace = run_algorithm_2(LINE, 100, form="printed")
    assert done(trace, "z") == [("pass over", "z", 100)]
    assert kept(trace) == ["x", "y"]
    # Mended it is compared. Nothing is read any more, L is 1 of each, and the largest is the least:
    # 1.5 log 2 = 1.0397, less 1 - exp(-0.6) = 0.4512 of x, 0.3297 of y, 0.5034 of z.
    trace = run_algorithm_2(LINE, 100)
    assert done(trace, "z") == [("refuse", "z", 100)]
    (step,) = of(trace, "z")
    assert [score[3] for score in scores(trace, step).values()] == [0.589, 0.710, 0.536]


def test_what_is_larger_than_all_room_is_refused_and_empties_the_cache_as_printed() -> None:
    graph = drawn("> a > x", "> b > y", "> c > z", sizes={"x": 60, "y": 150, "z": 300})
    assert done(run_algorithm_2(graph, 100), "y") == [("refuse", "y", 60)]
    trace = run_algorithm_2(graph, 100, form="printed")
    assert done(trace, "y") == [("keep", "y", 210)]
    assert [action for action, _, _ in done(trace, "z")] == ["keep", "evict", "evict", "give up"]
    assert kept(trace) == ["z"]
    assert trace.steps[-1].used_bytes == 300


def test_what_need_not_go_after_all_is_put_back() -> None:
    # z, which two read, needs 30 bytes, of which none are free: x goes, as it is
    # worth least, then y, which is enough by itself.
    graph = ArtifactGraph(
        jobs=("a", "b", "c", "d", "e"),
        artifacts=("x", "y", "z"),
        producer=(0, 1, 2),
        readers=((), (), (3, 4)),
        size_bytes=(20, 40, 30),
        seconds=(1.0,) * 5,
        resources=(1.0, 50.0, 5.0, 1.0, 1.0),
    )
    trace = run_algorithm_2(graph, 60, jobs=range(3))
    assert done(trace, "z") == [
        ("evict", "x", 40),
        ("evict", "y", 0),
        ("put back", "x", 20),
        ("keep", "z", 50),
    ]
    assert kept(trace) == ["x", "z"]


def test_newcomer_of_least_worth_is_refused_where_as_printed_it_replaces() -> None:
    # y is read, x is read twice; n by nobody.
    graph = drawn(
        "> a > x",
        "> b > y",
        "> c > n",
        "x y > d >",
        "x > e >",
        sizes={"x": 60, "y": 41, "n": 30},
    )
    order = [graph.jobs.index(name) for name in "abc"]
    assert done(run_algorithm_2(graph, 102, jobs=order), "n") == [("refuse", "n", 101)]
    # Printed, in 100: x and y make 101, and n comes in for y, the least of the two.
    trace = run_algorithm_2(graph, 100, form="printed", jobs=order)
    assert done(trace, "n") == [("keep", "n", 131), ("evict", "y", 90)]


def test_of_equal_worth_the_first_goes() -> None:
    graph = drawn("> a > x", "> b > y", "> c > z")
    trace = run_algorithm_2(graph, 2)
    assert done(trace, "z") == [("evict", "x", 1), ("keep", "z", 2)]


def test_trace_reads_as_text() -> None:
    graph = figure_4("a1 > J7 > a7", "a2 a3 > J8 > a8", "a4 a6 a7 a8 > J9 > a9", w6=1.0)
    lines = run_algorithm_2(graph, 100, jobs=range(6)).to_text().splitlines()
    assert lines[0] == (
        "Algorithm 2, mended, with the equations as in the reading 'repaired'; room for 100 bytes"
    )
    assert lines[9:13] == [
        "J5 has ended",
        "  keep a5: takes 15 bytes, and 20 are free; 95 bytes used",
        "J6 has ended",
        "    a1: I = 9.666 of L = 10, F = 2.5, V = 0.2",
    ]
    assert "    a5: I = 2.548 of L = 5, F = 0, V = 0.15  least" in lines
    assert lines[-2:] == [
        "  refuse a6: worth the least of all, which takes 30 bytes, and 20 are free; 80 bytes used",
        "  put back a5: a6 does not come; 95 bytes used",
    ]


# what holds for all graphs ----------------------------------------------------------------------


@given(artifact_graphs(), st.integers(1, 30))
def test_mended_never_holds_more_than_there_is_room_for(graph: ArtifactGraph, room: int) -> None:
    trace = run_algorithm_2(graph, room)
    assert not overfull(trace)
    assert sum(graph.size_bytes[artifact] for artifact in trace.kept) <= room
    ended: set[int] = set()
    now: dict[int, None] = {}
    for step in trace.steps:
        ended.update(graph.order[: graph.order.index(step.job) + 1])
        if step.scores:
            # The scores are those of this moment, and the least decides.
            moment = Moment(step.scores.keys(), ended)
            for artifact, score in step.scores.items():
                assert score == trace.factor.score(graph, moment, artifact, room)
            least = min(score.importance for score in step.scores.values())
            assert step.scores[step.artifact].importance == least
        if step.action in ("keep", "put back"):
            now[step.artifact] = None
        elif step.action == "evict":
            del now[step.artifact]
        assert step.used_bytes == sum(graph.size_bytes[artifact] for artifact in now)
    assert set(trace.kept) == set(now)


@given(artifact_graphs(), st.integers(1, 30), st.sampled_from(("printed", "mended")))
def test_where_all_fits_nothing_goes(graph: ArtifactGraph, more: int, form: Form) -> None:
    made = [artifact for job in graph.order for artifact in graph.outputs[job]]
    trace = run_algorithm_2(graph, sum(graph.size_bytes) + more, form=form)
    assert list(trace.kept) == made
    assert {step.action for step in trace.steps} <= {"keep"}


@pytest.mark.parametrize("policy", [ImportanceRepaired(), ImportanceAsPrinted()])
@given(graph=artifact_graphs(), room=st.integers(1, 30))
def test_cache_decides_as_the_mended_form_does(
    policy: ImportanceRepaired, graph: ArtifactGraph, room: int
) -> None:
    trace = run_algorithm_2(graph, room, factor=ImportanceFactor(reading=policy.reading))
    known = RunKnowledge(graph)
    cache = BudgetedCache(room, policy, known)
    refused = {step.artifact for step in trace.steps if step.action == "refuse"}
    for job in graph.order:
        cache.refresh(known.end(job))
        for artifact in graph.outputs[job]:
            verdict = cache.offer(graph.artifacts[artifact])
            assert verdict.admitted == (artifact not in refused)
    assert set(cache) == set(kept(trace))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity_bytes is 0"):
        run_algorithm_2(LINE, 0)
    with pytest.raises(ValueError, match="c ends before a"):
        run_algorithm_2(LINE, 1, jobs=(2,))
    with pytest.raises(ValueError, match="a ends twice"):
        run_algorithm_2(LINE, 1, jobs=(0, 0))
