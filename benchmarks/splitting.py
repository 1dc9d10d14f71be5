"""What putting the steps of a workflow into parts costs, and what the parts are like.

Real workflows are read from WfFormat files and cut into parts of at most 50 steps; those that fit
into one part are left out. Random graphs of several shapes are cut into parts of at most 200 steps.
Beside Couler's method (`bands`) are level cutting (`levels`), topological cutting (`order`) and the
depth-first method of the Couler paper as it is printed (`dfs`, algorithm 3).

    python benchmarks/splitting.py [--data DIR] [--json OUT] [--seed N] [--quick] [--markdown]

The columns: parts, and the least that any partition has (a bound by the budget alone); the share of
edges, and of the bytes on edges, that lead from one part to another; the simulated makespan on any
number of workers, over that of the workflow as one, if a part waits for all of the parts before it
(`emitted`), and if its steps wait for steps only (`gates`); how many partitions have parts that
wait for each other in a circle, which no engine can run, so that their makespan is left out; CPU
seconds of the partitioning. Where a row is of several graphs, as of all real ones and of ten draws
of the smallest size, it has means, and the sum of seconds.

Limits come last: no circles, makespans as emitted of at most 1.10 and with gates of 1.0, at most
10 CPU seconds for the largest graph, and time that grows no faster than the steps. Exit code 1 says
that one is not kept. Seconds are of one run: machines differ, and are noisy.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workloads import graphs, wfformat
from workloads.limits import verdict
from workloads.options import parse, parser_of

from couler.errors import SerializationError
from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.budget import Budget
from couler.optimizers.partitioning.measure import (
    cut_edges,
    is_acyclic,
    makespan,
    start_times,
)
from couler.optimizers.partitioning.methods import partition, walked
from couler.optimizers.partitioning.model import Partition, TaskGraph

REAL_BUDGET = {"steps": 50}
RANDOM_BUDGET = {"steps": 200}
SIZES = (1_000, 10_000, 100_000)
QUICK = (500, 2_000)
DRAWS = 10
METHODS = ("bands", "levels", "order", "dfs")
COMPARED = ("real", "layered", "wide")
"""Of what the table of the decision has all methods."""

EMITTED_LIMIT = 1.1
GATES_LIMIT = 1.0
SECONDS_LIMIT = 10.0
GROWTH_LIMIT = 2.0


@dataclass(frozen=True)
class Row:
    """One graph, cut by one method."""

    family: str
    """`real`, or `random`."""
    name: str
    steps: int
    edges: int
    method: str
    parts: int
    least_parts: int
    cut_edges: int
    cut_bytes: int
    all_bytes: int
    has_circle: bool
    emitted: float | None
    """Makespan over that of the workflow as one; None where there is a circle."""
    gates: float
    seconds: float

    @property
    def cut_share(self) -> float:
        return self.cut_edges / self.edges if self.edges else 0.0

    @property
    def byte_share(self) -> float:
        return self.cut_bytes / self.all_bytes if self.all_bytes else 0.0


def measure(family: str, name: str, graph: TaskGraph, budget: Mapping[str, int]) -> Iterator[Row]:
    """Yield what each method makes of a graph."""
    alone = makespan(graph, Partition((0,) * len(graph.names), 1)) or 1.0
    for method in METHODS:
        begun = time.process_time()
        if method == "dfs":
            found = paper_partition(graph, budget)
        else:
            found = partition(graph, budget, method)
        seconds = time.process_time() - begun
        cut = cut_edges(graph, found)
        has_circle = not is_acyclic(graph, found)
        yield Row(
            family=family,
            name=name,
            steps=len(graph.names),
            edges=sum(map(len, graph.predecessors)),
            method=method,
            parts=found.count,
            least_parts=-(-len(graph.names) // budget["steps"]),
            cut_edges=len(cut),
            cut_bytes=sum(graph.edge_bytes.get(edge, 0) for edge in cut),
            all_bytes=sum(graph.edge_bytes.values()),
            has_circle=has_circle,
            emitted=None if has_circle else makespan(graph, found) / alone,
            gates=gated_makespan(graph, found) / alone,
            seconds=seconds,
        )


def paper_partition(graph: TaskGraph, budget: Mapping[str, int]) -> Partition:
    """Put nodes into parts as the Couler paper does, circles and all."""
    blocks = Blocks(graph, Budget(graph, budget, {}, {}))
    parts = walked(blocks)
    return Partition(tuple(blocks.spread(parts)), len(parts))


def gated_makespan(graph: TaskGraph, parts: Partition) -> float:
    """Return the seconds of a run in which steps wait for steps, through a gate at each cut.

    A gate is a node of no length: it opens when the step that it watches has ended, and only the
    step behind it waits for it.
    """
    count, part_of = len(graph.names), parts.part_of
    before: list[list[int]] = []
    gates: list[list[int]] = []
    for node, befores in enumerate(graph.predecessors):
        before.append([])
        for one in befores:
            if part_of[one] == part_of[node]:
                before[node].append(one)
            else:
                before[node].append(count + len(gates))
                gates.append([one])
    before += gates
    seconds = [*graph.seconds, *(0.0 for _ in gates)]
    starts = start_times(before, seconds)
    return max((start + takes for start, takes in zip(starts, seconds, strict=True)), default=0.0)


def real_rows(folder: Path, *, quick: bool) -> list[Row]:
    """Return the rows of the instances of a folder that need more than one part."""
    found: list[Row] = []
    least = REAL_BUDGET["steps"] + 1
    for number, (name, graph) in enumerate(wfformat.instances(folder, least=least)):
        if not quick or number % 8 == 0:
            found += measure("real", name, graph, REAL_BUDGET)
    return found


def random_rows(sizes: Sequence[int], seed: int) -> Iterator[Row]:
    """Yield the rows of random graphs, by shape and size; of the smallest size, several."""
    for shape, make in graphs.SHAPES.items():
        for steps in sizes:
            for draw in range(DRAWS if steps == sizes[0] else 1):
                graph = make(steps, random.Random(f"{seed} {shape} {steps} {draw}"))
                yield from measure("random", shape, graph, RANDOM_BUDGET)


HEADING = (
    f"{'graph':<18}{'steps':>8}  {'method':<7}{'parts':>7}{'least':>7}{'cut':>7}{'bytes':>7}"
    f"{'emitted':>9}{'worst':>9}{'gates':>7}{'circles':>9}{'CPU s':>8}"
)


def line(name: str, rows: Sequence[Row]) -> str:
    """Return the line of the table for one method, of one graph or the means of several."""
    ratios = [row.emitted for row in rows if row.emitted is not None]
    emitted = f"{statistics.mean(ratios):.3f}" if ratios else "-"
    worst = f"{max(ratios):.3f}" if ratios else "-"
    return (
        f"{name:<18}{statistics.mean(row.steps for row in rows):>8.0f}  {rows[0].method:<7}"
        f"{statistics.mean(row.parts for row in rows):>7.1f}"
        f"{statistics.mean(row.least_parts for row in rows):>7.1f}"
        f"{statistics.mean(row.cut_share for row in rows):>7.0%}"
        f"{statistics.mean(row.byte_share for row in rows):>7.0%}"
        f"{emitted:>9}{worst:>9}{max(row.gates for row in rows):>7.3f}"
        f"{f'{sum(row.has_circle for row in rows)}/{len(rows)}':>9}"
        f"{sum(row.seconds for row in rows):>8.2f}"
    )


def verdicts(rows: Sequence[Row]) -> bool:
    """Print what Couler's method must keep; return whether it does."""
    ours = [row for row in rows if row.method == "bands"]
    largest = max(row.steps for row in ours)
    kept = [
        verdict("circles", sum(row.has_circle for row in ours), 0),
        verdict(
            "largest makespan as emitted / as one",
            max(row.emitted for row in ours if row.emitted is not None),
            EMITTED_LIMIT,
        ),
        verdict(
            "largest makespan with gates / as one", max(row.gates for row in ours), GATES_LIMIT
        ),
        verdict(
            f"CPU s for {largest:,} steps, the slowest shape",
            max(row.seconds for row in ours if row.steps == largest),
            SECONDS_LIMIT,
        ),
    ]
    per_step = {
        steps: statistics.mean(row.seconds / steps for row in ours if row.steps == steps)
        for steps in {row.steps for row in ours if row.family == "random"}
    }
    first, last = min(per_step), max(per_step)
    growth = per_step[last] / per_step[first]
    kept.append(verdict(f"CPU s a step at {last:,} / at {first:,}", growth, GROWTH_LIMIT))
    return all(kept)


def report(folder: Path, *, seed: int, quick: bool) -> tuple[list[Row], bool]:
    """Print all figures; return them, and whether every limit is kept."""
    rows: list[Row] = []
    print(HEADING)
    if folder.is_dir():
        rows += real_rows(folder, quick=quick)
        names = {row.name for row in rows}
        for method in METHODS:
            of_method = [row for row in rows if row.method == method]
            if of_method:
                print(line(f"{len(names)} real", of_method))
    if not rows:
        print(f"no real workflows of more than {REAL_BUDGET['steps']} steps in {folder}: left out")
    made = random_rows(QUICK if quick else SIZES, seed)
    for (name, _), some in itertools.groupby(made, lambda row: (row.name, row.steps)):
        of_size = list(some)
        for method in METHODS:
            print(line(name, [row for row in of_size if row.method == method]), flush=True)
        rows += of_size
    print()
    return rows, verdicts(rows)


def markdown(rows: Sequence[Row]) -> str:
    """Return the table of docs/decisions/0019: the real workflows, and the largest random ones."""
    heads = ("graph", "method", "parts", "least", "edges cut", "bytes cut", "emitted", "worst")
    lines = [(*heads, "circles", "CPU s"), ("---",) * 10]
    largest = max(row.steps for row in rows if row.family == "random")
    chosen = [row for row in rows if row.family == "real" or row.steps == largest]
    for name in dict.fromkeys("real" if row.family == "real" else row.name for row in chosen):
        for method in METHODS if name in COMPARED else METHODS[:1]:
            some = [
                row for row in chosen if row.method == method and name in (row.family, row.name)
            ]
            figures = line("", some).split()[2:]
            steps = f"{len(some)} real" if name == "real" else f"{name}, {largest:,} steps"
            figures.pop(6)  # with gates, which is 1 throughout
            lines.append((steps if method == METHODS[0] else "", f"`{method}`", *figures))
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="print the table of docs/decisions/0019-splitting.md at the end",
    )
    options = parse(parser, arguments)
    try:
        rows, kept = report(options.data, seed=options.seed, quick=options.quick)
    except SerializationError as error:
        sys.exit(str(error))
    options.write(
        budgets={"real": REAL_BUDGET, "random": RANDOM_BUDGET},
        rows=[dataclasses.asdict(row) for row in rows],
    )
    if options.markdown:
        print(markdown(rows))
    if not kept:
        sys.exit("some limit is not kept; run again on an idle machine before believing it")


if __name__ == "__main__":
    main()
