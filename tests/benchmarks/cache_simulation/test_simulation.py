"""Simulated runs against runs worked out by hand."""

from __future__ import annotations

import math

import pytest

from benchmarks.cache_simulation import (
    GovernedCache,
    Machine,
    Report,
    Span,
    Storage,
    simulate,
    usage,
)
from couler.caching.graph import ArtifactGraph
from couler.caching.policies.simple import LeastRecentlyUsed

REMOTE = Storage(latency_s=1, read_bytes_per_s=10, write_bytes_per_s=5)
CACHE = Storage(latency_s=0, read_bytes_per_s=100, write_bytes_per_s=50)


class Fixed:
    """Keeps what it was told to, once it is offered."""

    def __init__(self, graph: ArtifactGraph, *kept: str) -> None:
        self._graph = graph
        self._kept = kept
        self._held: set[int] = set()
        self.told: list[str] = []
        self.read: list[str] = []

    @property
    def used_bytes(self) -> int:
        return sum(self._graph.size_bytes[artifact] for artifact in self._held)

    def holds(self, artifact: int) -> bool:
        return artifact in self._held

    def access(self, artifact: int) -> None:
        self.read.append(self._graph.artifacts[artifact])

    def start(self, job: int) -> None:
        self.told.append(f"+{self._graph.jobs[job]}")

    def offer(self, artifact: int) -> bool:
        name = self._graph.artifacts[artifact]
        self.told.append(name)
        if name in self._kept:
            self._held.add(artifact)
        return name in self._kept

    def end(self, job: int) -> None:
        self.told.append(f"-{self._graph.jobs[job]}")


def chain() -> ArtifactGraph:
    """raw -> load -> table -> fit -> model -> test, which reads the table too."""
    return ArtifactGraph(
        jobs=("load", "fit", "test"),
        artifacts=("raw", "table", "model"),
        producer=(None, 0, 1),
        readers=((0,), (1, 2), (2,)),
        size_bytes=(100, 200, 50),
        seconds=(5, 60, 2),
    )


def phases(report: Report) -> list[tuple[int, str, float]]:
    return [(span.job, span.phase, span.end_s - span.start_s) for span in report.spans]


def test_misses_are_read_again_from_the_remote_store() -> None:
    graph = chain()
    report = simulate(graph, Fixed(graph), Machine(1, REMOTE, CACHE))
    # load: raw 1 + 100/10 = 11, 5, table written 1 + 200/5 = 41: ends at 57.
    # fit: table 1 + 200/10 = 21, 60, model 1 + 50/5 = 11: 92 more.
    # test: table 21, model 1 + 50/10 = 6, 2: 29 more.
    assert report.seconds == 57 + 92 + 29
    assert phases(report) == [
        *((0, "read", 11), (0, "compute", 5), (0, "write", 41)),
        *((1, "read", 21), (1, "compute", 60), (1, "write", 11)),
        *((2, "read", 21), (2, "read", 6), (2, "compute", 2)),
    ]
    assert (report.reads, report.hits, report.hit_ratio) == (4, 0, 0)
    assert report.read_s == 11 + 21 + 21 + 6
    assert report.write_s == 41 + 11
    assert (report.peak_bytes, report.mean_bytes) == (0, 0)
    assert report.steps == ((0, False), (0, True), (1, False), (1, True), (2, False), (2, True))


def test_hits_are_read_from_the_cache_and_what_it_takes_is_written_to_it() -> None:
    graph = chain()
    cache = Fixed(graph, "table")
    report = simulate(graph, cache, Machine(1, REMOTE, CACHE))
    # load: 11 + 5 + table to the cache 200/50 = 4 + to the remote store 41 = 61.
    # fit: table from the cache 200/100 = 2, 60, 11 = 73.  test: 2 + 6 + 2 = 10.
    assert report.seconds == 61 + 73 + 10
    assert (report.reads, report.hits, report.hit_ratio) == (4, 2, 0.5)
    assert report.read_s == 11 + 2 + 2 + 6
    assert report.write_s == 4 + 41 + 11
    # 200 bytes from the end of load's computing, 16, to the end, 144.
    assert report.peak_bytes == 200
    assert report.mean_bytes == pytest.approx(200 * (144 - 16) / 144)
    assert " ".join(cache.told) == "+load raw table -load +fit model -fit +test model -test"


def test_what_was_read_is_offered_and_hit_later() -> None:
    graph = ArtifactGraph(
        jobs=("a", "b"),
        artifacts=("raw",),
        producer=(None,),
        readers=((0, 1),),
        size_bytes=(100,),
        seconds=(1, 1),
    )
    report = simulate(graph, Fixed(graph, "raw"), Machine(1, REMOTE, CACHE))
    # a: 11, written to the cache 2, 1.  b: from the cache 1, 1.
    assert phases(report) == [
        *((0, "read", 11), (0, "write", 2), (0, "compute", 1)),
        *((1, "read", 1), (1, "compute", 1)),
    ]
    # At once on two workers both miss it, and it is written once.
    report = simulate(graph, Fixed(graph, "raw"), Machine(2, REMOTE, CACHE))
    assert (report.hits, report.write_s, report.seconds) == (0, 2, 14)


def test_misses_are_made_again_along_all_that_is_not_held() -> None:
    graph = chain()
    report = simulate(graph, Fixed(graph), Machine(1, REMOTE, CACHE, misses="recompute"))
    # load: raw 11, 5 = 16; nothing is written.
    # fit: the table again 11 + 5, then 60 = 76.
    # test: the table again 16, the model again from the table that it has 60, then 2 = 78.
    assert report.seconds == 16 + 76 + 78
    assert phases(report) == [
        *((0, "read", 11), (0, "compute", 5)),
        *((1, "read", 11), (0, "remake", 5), (1, "compute", 60)),
        *((2, "read", 11), (0, "remake", 5), (1, "remake", 60), (2, "compute", 2)),
    ]
    assert (report.hits, report.read_s, report.write_s) == (0, 11 + 16 + 76, 0)

    held = Fixed(graph, "table")
    report = simulate(graph, held, Machine(1, REMOTE, CACHE, misses="recompute"))
    # load: 16 + 4.  fit: 2 + 60.  test: table 2, model again 60 of the table that it has, 2.
    assert report.seconds == 20 + 62 + 64
    assert held.read == ["table", "table"]
    # What is made again on the way is offered: the model, though nothing keeps it.
    assert " ".join(held.told) == "+load raw table -load +fit model -fit +test model -test"


def test_a_job_run_again_gives_all_its_outputs_and_runs_once_a_start() -> None:
    graph = ArtifactGraph(
        jobs=("split", "fit"),
        artifacts=("left", "right"),
        producer=(0, 0),
        readers=((1,), (1,)),
        size_bytes=(10, 10),
        seconds=(7, 1),
    )
    report = simulate(graph, Fixed(graph), Machine(1, REMOTE, CACHE, misses="recompute"))
    assert phases(report) == [(0, "compute", 7), (0, "remake", 7), (1, "compute", 1)]


def test_what_is_read_to_make_something_again_was_used() -> None:
    """LRU gives up what nothing has read for longest, be it a step or what is made again."""
    graph = ArtifactGraph(
        jobs=("base", "huge", "other", "read", "new", "end"),
        artifacts=("base", "huge", "other", "new"),
        producer=(0, 1, 2, 4),
        readers=((1,), (3,), (5,), (5,)),
        size_bytes=(10, 100, 10, 10),
        seconds=(1, 1, 1, 1, 1, 1),
        waits=((), (0,), (1,), (2,), (3,), (4,)),
    )
    machine = Machine(1, REMOTE, CACHE, misses="recompute")
    cache = GovernedCache(graph, 20, LeastRecentlyUsed(), machine)
    report = simulate(graph, cache, machine)
    # base is kept and read by huge, which has no room; other is kept. To read what huge made, it
    # runs again and reads base once more, so that new goes in the place of other. For end, other
    # runs again and goes in the place of base, as new was read at that time.
    assert [span.job for span in report.spans if span.phase == "remake"] == [1, 2]
    assert [cache.holds(artifact) for artifact in range(4)] == [False, False, True, True]
    assert report.seconds == pytest.approx(
        1 + 0.2 + 0.1 + 1 + 1 + 0.2 + 0.1 + 1 + 1 + 1 + 0.2 + 2.3
    )


def test_chains_as_long_as_they_come_are_made_again() -> None:
    count = 3000
    graph = ArtifactGraph(
        jobs=tuple(f"j{job}" for job in range(count)),
        artifacts=tuple(f"a{job}" for job in range(count - 1)),
        producer=tuple(range(count - 1)),
        readers=tuple((job,) for job in range(1, count)),
        size_bytes=(0,) * (count - 1),
        seconds=(0,) * (count - 1) + (1,),
    )
    cache = Fixed(graph, *graph.artifacts[:-1])
    report = simulate(graph, cache, Machine(1, misses="recompute"))
    assert (report.seconds, report.hits) == (1, count - 2)


def test_workers_take_ready_steps_in_the_order_in_which_they_became_ready() -> None:
    graph = ArtifactGraph(
        jobs=("a", "b", "c", "d", "e"),
        artifacts=(),
        producer=(),
        readers=(),
        size_bytes=(),
        seconds=(3, 2, 2, 1, 1),
        waits=((), (), (), (0,), (1,)),
    )
    report = simulate(graph, Fixed(graph), Machine(2))
    # a 0-3 and b 0-2; c was ready before e: c 2-4; e, ready at 2, before d: 3-4; d 4-5.
    starts = {span.job: (span.start_s, span.end_s) for span in report.spans}
    assert starts == {0: (0, 3), 1: (0, 2), 2: (2, 4), 4: (3, 4), 3: (4, 5)}
    # Of steps that are ready at the same time the lower number is first, whoever ended first.
    graph = ArtifactGraph(
        jobs=("a", "b", "c", "d"),
        artifacts=(),
        producer=(),
        readers=(),
        size_bytes=(),
        seconds=(1, 1, 1, 1),
        waits=((), (), (1,), (0,)),
    )
    report = simulate(graph, Fixed(graph), Machine(2))
    assert [job for job, is_end in report.steps if not is_end] == [0, 1, 2, 3]


def test_reads_that_do_not_wait_are_counted_and_hold_nothing_up() -> None:
    graph = chain()
    waiting = Machine(1, REMOTE, CACHE)
    machine = Machine(1, REMOTE, CACHE, waits=False)
    for kept in ((), ("table",)):
        report = simulate(graph, Fixed(graph, *kept), machine)
        assert report.seconds == 67
        assert report.read_s == simulate(graph, Fixed(graph, *kept), waiting).read_s
        assert {span.phase for span in report.spans} == {"compute"}


def test_nothing_to_do_takes_no_time() -> None:
    graph = ArtifactGraph((), (), (), (), (), ())
    report = simulate(graph, Fixed(graph), Machine())
    assert (report.seconds, report.hit_ratio, report.mean_bytes) == (0, 0, 0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Machine(0), "workers: 0 is less than 1"),
        (lambda: Machine(misses="guess"), "'guess' is neither reread nor recompute"),  # type: ignore[arg-type]  # what a caller may get wrong
        (lambda: Storage(latency_s=-1), "latency_s: -1 is below 0"),
        (lambda: Storage(read_bytes_per_s=0), "read_bytes_per_s: 0 is not above 0"),
        (lambda: Storage(write_bytes_per_s=math.nan), "write_bytes_per_s: nan is not above 0"),
    ],
)
def test_machines_that_cannot_be_are_refused(make: object, text: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=text):
        make()


def test_usage_counts_what_computes_and_not_what_waits() -> None:
    spans = [Span(0, "read", 0, 2), Span(0, "remake", 2, 4), Span(1, "compute", 4, 6)]
    assert usage(spans, [1, 3]) == [(2, 1), (4, 3), (6, 0)]
    assert usage(spans, [0, 0]) == []
