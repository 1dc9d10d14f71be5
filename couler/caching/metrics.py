"""What caching is to lower in the Couler paper: time and memory of a workflow, Equations 1 and 2.

Both readings of the other equations (`couler.caching.importance`) share these.

References
----------
Couler: Unified Machine Learning Workflow Optimization in Cloud, IV-A1.
"""

from __future__ import annotations

from collections.abc import Sequence

from couler.caching.graph import ArtifactGraph

__all__ = ["workflow_memory", "workflow_time"]


def workflow_time(graph: ArtifactGraph) -> float:
    """Return the time `T` of a workflow in seconds: the length of its critical path.

    Notes
    -----
    `T = max(sum of t_p over p in J_t)` over all sequences `J_t` of jobs that wait for each other.
    O(n + m) for n jobs with m edges.

    References
    ----------
    Eq. 1. Printed, `J_t` is the longest group already, and the maximum over one.

    Examples
    --------
    >>> graph = ArtifactGraph(("a", "b", "c"), (), (), (), (), (2.0, 3.0, 4.0), (), ((), (0,), ()))
    >>> workflow_time(graph)
    5.0
    """
    return max(_ends(graph), default=0.0)


def workflow_memory(graph: ArtifactGraph, memory_bytes: Sequence[float]) -> float:
    """Return the memory `S` of a workflow in bytes: the most of jobs that run at the same time.

    Parameters
    ----------
    graph
        Has n jobs.
    memory_bytes
        What each job takes while it runs; n numbers.

    Raises
    ------
    ValueError
        The numbers are not one for each job.

    Notes
    -----
    `S = max(sum of s_p over p in J_s)` over all groups `J_s` of jobs that run at the same time. The
    paper does not say when jobs run: here each starts as soon as all that it waits for has ended,
    on any number of workers, as in Eq. 1. One that ends makes room for one that starts then, and a
    job of no seconds runs beside none. O(n log n + m).

    References
    ----------
    Eq. 2.

    Examples
    --------
    >>> graph = ArtifactGraph(("a", "b", "c"), (), (), (), (), (2.0, 3.0, 4.0), (), ((), (0,), ()))
    >>> workflow_memory(graph, (10, 30, 5))
    35.0
    """
    if len(memory_bytes) != len(graph.jobs):
        raise ValueError(f"memory_bytes: {len(memory_bytes)} values for {len(graph.jobs)} jobs")
    changes: list[tuple[float, float]] = []
    peak = 0.0
    for end, seconds, memory in zip(_ends(graph), graph.seconds, memory_bytes, strict=True):
        start = end - seconds
        if start < end:
            changes += ((start, memory), (end, -memory))
        else:
            peak = max(peak, memory)
    now = 0.0
    for _, change in sorted(changes):  # at the same time, what is given back comes first
        now += change
        peak = max(peak, now)
    return peak


def _ends(graph: ArtifactGraph) -> list[float]:
    """Return when each job ends if it starts as soon as all that it waits for has ended."""
    ends = [0.0] * len(graph.jobs)
    for job in graph.order:
        start = max((ends[before] for before in graph.predecessors[job]), default=0.0)
        ends[job] = start + graph.seconds[job]
    return ends
