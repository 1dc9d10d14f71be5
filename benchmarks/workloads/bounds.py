"""How much reading any cache can save on one sequence of reads: by linear and integer programs.

Between two uses that follow each other (its making, and each read) an artifact is either kept, and
the second one is a hit, or it is not. So there is one variable `x` for each such interval, whose
profit is what the hit saves; and at each event where intervals begin those that are under way must
fit the cache. With `x` in [0, 1] this is the relaxation FOO, more than which no cache can save that
knows the whole future; with `x` in {0, 1} it is what the best one saves.

Berger, Beckmann, Harchol-Balter: Practical bounds on optimal caching with variable object sizes,
POMACS 2(2), 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array

from benchmarks.cache_simulation import Machine
from couler.caching.graph import ArtifactGraph


@dataclass(frozen=True, slots=True)
class Interval:
    """A use of an artifact, and the read that follows it.

    Attributes
    ----------
    artifact
        Its number.
    begins, ends
        The events: the artifact must be held after the first one until the second one begins.
    profit_s
        Seconds that the read saves if it is held, above 0.
    """

    artifact: int
    begins: int
    ends: int
    profit_s: float


@dataclass(frozen=True)
class Bound:
    """A bound of what can be saved.

    Attributes
    ----------
    saving_s
        The saving that was found, in seconds of reading.
    limit_s
        What no cache saves more than, in seconds of reading; equal where it is optimal.
    """

    saving_s: float
    limit_s: float

    @property
    def gap(self) -> float:
        """How far the limit may be above the optimum, as a share of the limit."""
        return (self.limit_s - self.saving_s) / self.limit_s if self.limit_s else 0.0


def intervals(
    graph: ArtifactGraph, steps: Sequence[tuple[int, bool]], machine: Machine
) -> list[Interval]:
    """Return the intervals of a run, as `Report.steps` tells it, where misses are read again.

    Raises
    ------
    ValueError
        The machine makes misses again: then what a miss costs depends on what else is held.
    """
    if machine.misses != "reread":
        raise ValueError("only where misses are read again a read's saving is its own")
    last: dict[int, int] = {}
    found = []
    for event, (job, is_end) in enumerate(steps):
        for artifact in graph.outputs[job] if is_end else graph.inputs[job]:
            if artifact in last:
                size = graph.size_bytes[artifact]
                profit = machine.remote.read_s(size) - machine.cache.read_s(size)
                if profit > 0:
                    found.append(Interval(artifact, last[artifact], event, profit))
            last[artifact] = event
    return found


def linear(graph: ArtifactGraph, found: Sequence[Interval], capacity_bytes: int) -> Bound:
    """Return what a cache of some bytes saves at most, of parts of artifacts.

    Raises
    ------
    RuntimeError
        The solver fails.
    """
    kept, program = _program(graph, found, capacity_bytes)
    if not kept:
        return Bound(0.0, 0.0)
    matrix, profits, upper = program
    solved = linprog(
        -profits,
        A_eq=matrix,
        b_eq=np.zeros(matrix.shape[0]),
        bounds=np.column_stack((np.zeros(len(upper)), upper)),
        method="highs",
    )
    if solved.status != 0:
        raise RuntimeError(f"no solution of the linear program: {solved.message}")
    return Bound(-solved.fun, -solved.fun)


def integral(
    graph: ArtifactGraph, found: Sequence[Interval], capacity_bytes: int, *, limit_s: float
) -> Bound:
    """Return what a cache of some bytes saves at most, of whole artifacts, as far as found in time.

    Parameters
    ----------
    graph, found, capacity_bytes
        As for `linear`.
    limit_s
        Seconds after which the solver gives up.

    Raises
    ------
    RuntimeError
        The solver fails.
    """
    kept, program = _program(graph, found, capacity_bytes)
    if not kept:
        return Bound(0.0, 0.0)
    matrix, profits, upper = program
    whole = np.zeros(len(upper))
    whole[: len(kept)] = 1
    solved = milp(
        -profits,
        constraints=LinearConstraint(matrix, 0, 0),
        bounds=Bounds(0, upper),
        integrality=whole,
        options={"time_limit": limit_s, "mip_rel_gap": 1e-6},
    )
    if solved.status not in (0, 1):
        raise RuntimeError(f"no solution of the integer program: {solved.message}")
    limit = math.inf if solved.mip_dual_bound is None else -solved.mip_dual_bound
    return Bound(-solved.fun if solved.fun is not None else 0.0, limit)


def _program(
    graph: ArtifactGraph, found: Sequence[Interval], capacity_bytes: int
) -> tuple[list[Interval], tuple[coo_array, np.ndarray, np.ndarray]]:
    """Return the intervals that can be kept, and matrix, profits and upper bounds of the program.

    The columns are the intervals, then how full the cache is after each event, as a share of its
    size. The rows say how that changes from one event to the next, so that an interval stands in
    two of them however long it is.
    """
    kept = [one for one in found if graph.size_bytes[one.artifact] <= capacity_bytes]
    number = {event: row for row, event in enumerate(sorted({one.begins for one in kept}))}
    # An interval ends before the first event at which another begins.
    events = sorted(number)
    ends = np.searchsorted(events, [one.ends for one in kept])
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []

    def put(row: int, column: int, value: float) -> None:
        rows.append(row)
        columns.append(column)
        values.append(value)

    for column, (one, end) in enumerate(zip(kept, ends, strict=True)):
        share = graph.size_bytes[one.artifact] / capacity_bytes if capacity_bytes else 0.0
        put(number[one.begins], column, share)
        if end < len(events):
            put(int(end), column, -share)
    for row in range(len(events)):
        put(row, len(kept) + row, -1.0)
        if row:
            put(row, len(kept) + row - 1, 1.0)
    columns_count = len(kept) + len(events)
    matrix = coo_array((values, (rows, columns)), shape=(len(events), columns_count)).tocsr()
    profits = np.zeros(columns_count)
    profits[: len(kept)] = [one.profit_s for one in kept]
    return kept, (matrix, profits, np.ones(columns_count))
