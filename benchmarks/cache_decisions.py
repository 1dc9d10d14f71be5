"""What it costs to decide which artifacts to keep, for each policy.

A run is replayed in which each job makes one artifact and reads what others made. For each job the
cache is told that it starts, what it reads and that it has ended, and is offered what it made: a
decision is all of this together. Where n artifacts fit, the last n jobs of 3n count, as the cache
is full then; small runs are drawn several times. Four shapes:

recent    a job reads two artifacts, drawn from the last 2n
fans      one job in 12 makes what the next ten read; each of these reads one more, drawn from the
          last 2n, and the twelfth reads what they made
hub       each job reads what the first one made, and one more, drawn from the last 2n
wide      half of the jobs read what the first one made, the others that and what one of these
          made, and the last what all have made; what is missed is made again and offered, and each
          offer is a decision

    python benchmarks/cache_decisions.py [--json OUT] [--seed N] [--quick | --large]

The columns: artifacts kept at the end; CPU microseconds a decision, the median of the runs; how
often a decision asks for a worth; evictions a decision; the microseconds over those of the floor
`heap`. Floors do nothing but keep the books, with no policy and no knowledge: `ordered dict` is LRU
by `collections.OrderedDict`, `heap` pushes what comes to a heap and pops what goes. Last stands the
time to learn what is known of the whole run, once, for each of its jobs.

Limits come last, for each policy and shape: n decisions at n kept artifacts may grow no faster than
n log n, so one decision no faster than log n, from the least n to the greatest. That is asked of
the worths that it asks for, which do not depend on the machine, with a slack of 2 for the base and
the constants of logarithms, and of its time, with a slack of 3: what does not fit into the
processor's caches any more takes longer, and machines are noisy. What grew as n would be far over
both. The growth of the floors stands beside. What is known to grow faster is told with its reason.
Exit code 1 says that another limit is not kept. What `--quick` measures is too small to judge.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import heapq
import json
import math
import random
import statistics
import sys
import time
import typing as t
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from couler.caching.cache import BudgetedCache
from couler.caching.graph import ArtifactGraph
from couler.caching.policy import CachePolicy, Knowledge
from couler.caching.registry import policy_names, read_policy
from couler.caching.run_knowledge import RunKnowledge

SIZES = (100, 1_000, 10_000)
QUICK = (20, 100)
LARGE = (100, 1_000, 10_000, 100_000)
DECISIONS = 2_000
"""How many of a size count at least, in runs together."""
FAN = 12
MEAN_BYTES = 100
WORTHS_SLACK = 2.0
TIME_SLACK = 3.0
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Row:
    """One policy at one size."""

    shape: str
    fits: int
    """How many artifacts of mean size fit."""
    policy: str
    kept: int
    microseconds: float
    asked: float
    evicted: float
    prepare_microseconds: float


@dataclass(frozen=True)
class Counting:
    """A policy that counts how often it is asked for a worth."""

    policy: CachePolicy
    asked: list[int]

    @property
    def worths_only_rise(self) -> bool:
        return getattr(self.policy, "worths_only_rise", False)

    @property
    def worths_are_densities(self) -> bool:
        return getattr(self.policy, "worths_are_densities", False)

    def admit(self, key: str, known: Knowledge) -> str | None:
        return self.policy.admit(key, known)

    def on_access(self, key: str, known: Knowledge) -> float:
        return self.policy.on_access(key, known)

    def worth(self, key: str, known: Knowledge) -> float:
        self.asked[0] += 1
        return self.policy.worth(key, known)


def recent(fits: int, jobs: int, chance: random.Random) -> list[list[int]]:
    """Return what each job reads: of what was made last."""
    return [
        sorted({chance.randrange(max(0, job - 2 * fits), job) for _ in range(2)}) if job else []
        for job in range(jobs)
    ]


def fans(fits: int, jobs: int, chance: random.Random) -> list[list[int]]:
    """Return what each job reads: of the first of its twelve, or of the others."""
    reads: list[list[int]] = []
    for job in range(jobs):
        place = job % FAN
        if place == FAN - 1:
            reads.append([*range(job - FAN + 2, job)])
            continue
        inputs = {chance.randrange(max(0, job - 2 * fits), job)} if job else set()
        if place:
            inputs.add(job - place)
        reads.append(sorted(inputs))
    return reads


def hub(fits: int, jobs: int, chance: random.Random) -> list[list[int]]:
    """Return what each job reads: of the first job, and of what was made last."""
    return [
        sorted({0, chance.randrange(max(0, job - 2 * fits), job)}) if job else []
        for job in range(jobs)
    ]


def wide(fits: int, jobs: int, chance: random.Random) -> list[list[int]]:
    """Return what each job reads: of the first job, of one that reads that, or of all."""
    width = (jobs - 2) // 2
    first = [[0] for _ in range(width)]
    second = [[0, job] for job in range(1, jobs - 1 - width)]
    return [[], *first, *second, [*range(jobs - 1)]]


SHAPES: dict[str, t.Callable[[int, int, random.Random], list[list[int]]]] = {
    "recent": recent,
    "fans": fans,
    "hub": hub,
    "wide": wide,
}
MADE_AGAIN = frozenset({"wide"})
"""Shapes in which what a job misses is made again, along all that is not kept."""

KNOWN = {
    ("wide", "couler-paper"): (
        "what all steps read comes and goes again and again, as its readers count nothing by Eq. 4 "
        "as printed, and each time the cost of all that is made of it changes (Eq. 3)"
    ),
}
"""Why a policy decides in more than O(log n) in some shape."""
KNOWN_MOST = 1_000
"""Beyond which that is not measured: it takes minutes."""


def graph_of(shape: str, fits: int, seed: int) -> ArtifactGraph:
    """Return a run long enough that the cache is full before the jobs that count."""
    chance = random.Random(seed)
    jobs = 3 * fits
    reads = SHAPES[shape](fits, jobs, chance)
    readers: list[list[int]] = [[] for _ in range(jobs)]
    for job, inputs in enumerate(reads):
        for artifact in inputs:
            readers[artifact].append(job)
    return ArtifactGraph(
        jobs=tuple(f"job{job}" for job in range(jobs)),
        artifacts=tuple(f"artifact{job}" for job in range(jobs)),
        producer=tuple(range(jobs)),
        readers=tuple(map(tuple, readers)),
        size_bytes=tuple(chance.randint(1, 2 * MEAN_BYTES - 1) for _ in range(jobs)),
        seconds=tuple(chance.lognormvariate(0, 1) for _ in range(jobs)),
    )


class Replay(t.NamedTuple):
    """What a run over a cache was like."""

    kept: int
    microseconds: float
    asked: float
    evicted: float
    prepare_microseconds: float = 0.0


def replay(
    graph: ArtifactGraph, fits: int, policy: CachePolicy, *, is_made_again: bool = False
) -> Replay:
    """Run all jobs in order, and measure the last third of them."""
    begun = time.process_time()
    known = RunKnowledge(graph)
    prepared = time.process_time() - begun
    counting = Counting(policy, [0])
    cache = BudgetedCache(fits * MEAN_BYTES, counting, known)
    evicted = asked = decisions = 0
    started = 0.0
    for job in range(len(graph.jobs)):
        if job == 2 * fits:
            evicted = decisions = 0
            asked, started = counting.asked[0], time.process_time()
        missed = read(graph, cache, job, is_made_again=is_made_again)
        cache.refresh(known.start(job))
        for again in missed:
            evicted += len(cache.offer(graph.artifacts[again]).evicted)
        cache.refresh(known.end(job))
        evicted += len(cache.offer(graph.artifacts[job]).evicted)
        decisions += 1 + len(missed)
    seconds = time.process_time() - started
    return Replay(
        len(cache),
        1e6 * seconds / decisions,
        (counting.asked[0] - asked) / decisions,
        evicted / decisions,
        1e6 * prepared / len(graph.jobs),
    )


def read(graph: ArtifactGraph, cache: BudgetedCache, job: int, *, is_made_again: bool) -> list[int]:
    """Read what a job reads; return the jobs that run again for it, in their order."""
    missed: dict[int, None] = {}
    waiting = [job]
    while waiting:
        for artifact in graph.inputs[waiting.pop()]:
            # Who made it has its number.
            is_hit = artifact in missed or cache.access(graph.artifacts[artifact])
            if is_made_again and not is_hit:
                missed[artifact] = None
                waiting.append(artifact)
    return list(missed)[::-1]


def ordered_dict(graph: ArtifactGraph, fits: int) -> Replay:
    """Return what LRU takes without a policy."""
    kept: OrderedDict[str, int] = OrderedDict()
    free = fits * MEAN_BYTES
    evicted = 0
    started = 0.0
    for job, inputs in enumerate(graph.inputs):
        if job == 2 * fits:
            evicted, started = 0, time.process_time()
        for artifact in inputs:
            key = graph.artifacts[artifact]
            if key in kept:
                kept.move_to_end(key)
        size = graph.size_bytes[job]
        kept[graph.artifacts[job]] = size
        free -= size
        while free < 0:
            free += kept.popitem(last=False)[1]
            evicted += 1
    seconds = time.process_time() - started
    return Replay(len(kept), 1e6 * seconds / fits, 0.0, evicted / fits)


def heap(graph: ArtifactGraph, fits: int) -> Replay:
    """Return what a heap of worths that never change takes: here the seconds of the maker."""
    kept: dict[str, int] = {}
    order: list[tuple[float, str]] = []
    free = fits * MEAN_BYTES
    evicted = 0
    started = 0.0
    for job in range(len(graph.jobs)):
        if job == 2 * fits:
            evicted, started = 0, time.process_time()
        key = graph.artifacts[job]
        kept[key] = size = graph.size_bytes[job]
        heapq.heappush(order, (graph.seconds[job], key))
        free -= size
        while free < 0:
            free += kept.pop(heapq.heappop(order)[1])
            evicted += 1
    seconds = time.process_time() - started
    return Replay(len(kept), 1e6 * seconds / fits, 0.0, evicted / fits)


FLOORS = {"ordered dict": ordered_dict, "heap": heap}


def measure(sizes: Sequence[int], decisions: int, seed: int) -> list[Row]:
    """Measure all policies and floors, and print a line of each."""
    head = f"{'shape':7} {'fit':>7} {'policy':12} {'kept':>7} {'us':>8} {'asked':>6}"
    print(f"{head} {'evicted':>7} {'floor':>6} {'learn us':>8}")
    rows: list[Row] = []
    for shape in SHAPES:
        for fits in sizes:
            draws = max(1, decisions // fits)
            graphs = [graph_of(shape, fits, seed + draw) for draw in range(draws)]
            floor = math.nan
            for name in (*FLOORS, *policy_names()):
                if (shape, name) in KNOWN and fits > KNOWN_MOST:
                    continue
                row = Row(shape, fits, name, *of_policy(name, graphs, fits, shape))
                floor = row.microseconds if name == "heap" else floor
                rows.append(row)
                print(
                    f"{shape:7} {fits:7,} {name:12} {row.kept:7,} {row.microseconds:8.1f} "
                    f"{row.asked:6.1f} {row.evicted:7.2f} {row.microseconds / floor:6.1f} "
                    f"{row.prepare_microseconds:8.1f}",
                    flush=True,
                )
    return rows


def of_policy(name: str, graphs: Sequence[ArtifactGraph], fits: int, shape: str) -> Replay:
    """Measure a policy or a floor on some runs."""
    replays: list[Replay] = []
    for graph in graphs:
        gc.collect()
        if name in FLOORS:
            replays.append(FLOORS[name](graph, fits))
        else:
            is_made_again = shape in MADE_AGAIN
            replays.append(replay(graph, fits, read_policy(name), is_made_again=is_made_again))
    kept, *figures = zip(*replays, strict=True)
    microseconds, asked, evicted, prepare_microseconds = figures
    return Replay(
        round(statistics.mean(kept)),
        statistics.median(microseconds),
        statistics.mean(asked),
        statistics.mean(evicted),
        statistics.median(prepare_microseconds),
    )


def verdicts(rows: Sequence[Row]) -> bool:
    """Print whether each policy's decisions grow no faster than log n; return if all do."""
    least, greatest = min(row.fits for row in rows), max(row.fits for row in rows)
    limit = math.log(greatest) / math.log(least)
    found = {(row.shape, row.policy, row.fits): row for row in rows}
    print(f"\na decision at {greatest:,} over one at {least:,}")
    limits = (WORTHS_SLACK * limit, TIME_SLACK * limit)
    print("log n grows by {:.2f}; limits: worths {:.2f}, time {:.2f}".format(limit, *limits))
    is_kept = True
    for shape in SHAPES:
        for name in (*FLOORS, *policy_names()):
            first = found[shape, name, least]
            last = found.get((shape, name, greatest)) or found[shape, name, KNOWN_MOST]
            grown = last.microseconds / first.microseconds
            asked = last.asked / max(first.asked, 1.0)
            is_fine = asked <= limits[0] and grown <= limits[1]
            if name in FLOORS:
                verdict = "floor"
            elif is_fine:
                verdict = "kept"
            elif (shape, name) in KNOWN:
                verdict = f"known: {KNOWN[shape, name]}"
            else:
                verdict = "NOT KEPT"
                is_kept = False
            print(f"{shape:7} {name:12} worths {asked:5.2f}  time {grown:5.2f}  {verdict}")
    return is_kept


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all rows there")
    parser.add_argument("--seed", type=int, default=1, help="of the graphs; default %(default)s")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="few artifacts and few decisions")
    size.add_argument("--large", action="store_true", help="up to 100,000 artifacts")
    options = parser.parse_args(arguments)
    gc.freeze()  # modules stay, and need not be looked at before each measurement
    sizes = QUICK if options.quick else LARGE if options.large else SIZES
    rows = measure(sizes, DECISIONS // 20 if options.quick else DECISIONS, options.seed)
    is_kept = verdicts(rows) or options.quick
    if options.json is not None:
        document = {
            "schema_version": SCHEMA_VERSION,
            "seed": options.seed,
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if not is_kept:
        sys.exit("some limit is not kept; run again on an idle machine before believing times")


if __name__ == "__main__":
    main()
