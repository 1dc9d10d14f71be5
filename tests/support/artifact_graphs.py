"""Graphs of artifacts: by hand, and hypothesis strategies."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from benchmarks.cache_simulation.importance import Moment
from couler.caching.graph import ArtifactGraph


def drawn(
    *jobs: str,
    sizes: Mapping[str, int] | None = None,
    seconds: Mapping[str, float] | None = None,
    resources: Mapping[str, float] | None = None,
    waits: Mapping[str, str] | None = None,
) -> ArtifactGraph:
    """Return the graph of jobs written `reads > name > makes`, with blanks between artifacts.

    Artifacts are numbered in the order in which they are named. What is not said is 1.
    """
    split = [[part.split() for part in job.split(">")] for job in jobs]
    named = dict.fromkeys(word for reads, _, makes in split for word in (*reads, *makes))
    number = {name: index for index, (_, (name,), _) in enumerate(split)}
    maker = {word: number[name] for _, (name,), makes in split for word in makes}
    return ArtifactGraph(
        jobs=tuple(number),
        artifacts=tuple(named),
        producer=tuple(maker.get(word) for word in named),
        readers=tuple(
            tuple(number[name] for reads, (name,), _ in split if word in reads) for word in named
        ),
        size_bytes=tuple((sizes or {}).get(word, 1) for word in named),
        seconds=tuple((seconds or {}).get(name, 1.0) for name in number),
        resources=tuple((resources or {}).get(name, 1.0) for name in number),
        waits=tuple(
            tuple(number[before] for before in (waits or {}).get(name, "").split())
            for name in number
        ),
    )


@st.composite
def artifact_graphs(draw: st.DrawFn, most: int = 10) -> ArtifactGraph:
    """Graphs of jobs that make none, one or several artifacts, some of which come from outside."""
    count = draw(st.integers(1, most))
    makers = draw(st.lists(st.none() | st.integers(0, count - 1), max_size=2 * most))
    readers: list[tuple[int, ...]] = []
    for maker in makers:
        later = range(0 if maker is None else maker + 1, count)
        chosen = st.lists(st.sampled_from(later), max_size=3, unique=True) if later else st.just([])
        readers.append(tuple(draw(chosen)))
    whole = st.integers(0, 9)
    return ArtifactGraph(
        jobs=tuple(f"j{number}" for number in range(count)),
        artifacts=tuple(f"a{number}" for number in range(len(makers))),
        producer=tuple(makers),
        readers=tuple(readers),
        size_bytes=tuple(draw(whole) for _ in makers),
        seconds=tuple(float(draw(whole)) for _ in range(count)),
        resources=tuple(float(draw(whole)) for _ in range(count)),
        waits=tuple(
            tuple(draw(st.lists(st.integers(0, job - 1), max_size=1))) if job else ()
            for job in range(count)
        ),
    )


@st.composite
def moments(draw: st.DrawFn, graph: ArtifactGraph) -> Moment:
    """Any artifacts kept and any jobs ended, whether a run can come to that or not."""
    artifacts, jobs = len(graph.artifacts), len(graph.jobs)
    return Moment(
        frozenset(draw(st.sets(st.sampled_from(range(artifacts))))) if artifacts else frozenset(),
        frozenset(draw(st.sets(st.sampled_from(range(jobs))))),
    )
