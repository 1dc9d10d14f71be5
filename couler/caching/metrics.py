"""What caching lowers in the Couler paper: time and memory of a workflow, Equations 1 and 2."""
# Couler: Unified Machine Learning Workflow Optimization in Cloud, IV-A1.

from __future__ import annotations

from collections.abc import Sequence

from couler.caching.graph import ArtifactGraph

__all__ = ["workflow_memory", "workflow_time"]


def workflow_time(graph: ArtifactGraph) -> float:
    """Return the time `T` of a workflow in seconds: the length of its critical path."""
    # Eq. 1. Printed, `J_t` is the longest group already, and the maximum over one.
    return max(_ends(graph), default=0.0)


def workflow_memory(graph: ArtifactGraph, memory_bytes: Sequence[float]) -> float:
    """Return the memory `S` of a workflow in bytes: the most of jobs that run at the same time."""
    # Eq. 2.
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
