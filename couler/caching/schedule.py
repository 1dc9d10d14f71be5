"""In which order jobs start, foretold by a list schedule."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from couler.caching.graph import ArtifactGraph

__all__ = ["DEFAULT_WORKERS", "start_order"]

DEFAULT_WORKERS = 8
"""How many jobs run at a time where nobody says it."""


def start_order(
    graph: ArtifactGraph,
    workers: int | None = DEFAULT_WORKERS,
    seconds: Sequence[float] | None = None,
) -> tuple[int, ...]:
    """Return all jobs in the order in which a list schedule starts them.

    Parameters
    ----------
    graph
        n jobs.
    workers
        How many jobs run at a time, at least 1; None if there is no limit.
    seconds
        How long each of the n jobs takes; None if that is not known: all take equally long.

    Returns
    -------
    tuple of int
        The n jobs. Of jobs that are ready, the one that has been ready longest starts first; of
        equals, the one of the smallest number.

    Raises
    ------
    ValueError
        There is no worker, or not one duration for each job.

    Notes
    -----
    Graham's list scheduling [1]_, O((n + edges) log n).

    References
    ----------
    .. [1] R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
       Mathematics 17(2), 1969.

    Examples
    --------
    >>> graph = ArtifactGraph(
    ...     jobs=("slow", "quick", "after slow", "after quick"), artifacts=("a", "b"),
    ...     producer=(0, 1), readers=((2,), (3,)), size_bytes=(1, 1), seconds=(9.0, 1.0, 1.0, 1.0),
    ... )
    >>> start_order(graph), start_order(graph, seconds=graph.seconds)
    ((0, 1, 2, 3), (0, 1, 3, 2))
    >>> start_order(graph, workers=1)
    (0, 1, 2, 3)
    """
    count = len(graph.jobs)
    if workers is not None and workers < 1:
        raise ValueError(f"{workers} workers: at least one must run the jobs")
    lasts = [1.0] * count if seconds is None else seconds
    if len(lasts) != count:
        raise ValueError(f"{len(lasts)} durations for {count} jobs")
    waits_for = [len(before) for before in graph.predecessors]
    ready = [(0.0, job) for job in range(count) if not waits_for[job]]
    running: list[tuple[float, int]] = []
    order: list[int] = []
    now = 0.0
    while ready or running:
        while ready and (workers is None or len(running) < workers):
            _, job = heapq.heappop(ready)
            order.append(job)
            heapq.heappush(running, (now + lasts[job], job))
        now = running[0][0]
        while running and running[0][0] == now:
            _, job = heapq.heappop(running)
            for after in graph.successors[job]:
                waits_for[after] -= 1
                if not waits_for[after]:
                    heapq.heappush(ready, (now, after))
    return tuple(order)
