"""Grouping of operators: what methods cost, what runs then take, and how long the methods take.

    python benchmarks/grouping.py [--json OUT] [--seed N] [--quick]

First the pipelines of the planning paper: 14 operators in a line or in three lines, 1 to 4 with
special tags, Fibonacci steps 2 to 4, each drawn several times. Then random layers of 50, 200 and
1,000 operators. Both are grouped as streaming operators, whose groups may wait for each other, and
as batch steps, whose groups must not. `workloads/pipelines.py` states what operators take.

Costs are those of the connection heuristic, whatever a method makes small: an edge 5 inside of a
group and 20 between groups, a group 50. Columns: `cost`, the mean; `best`, that of the best
grouping, and `over`, by how much the method costs more, on the mean and at most (the best of batch
steps is known where CP-SAT is installed and proves it; else a bound, the best of the
streaming problem, stands for it, marked with ~); `groups`; `lost s`, what runs later as
less is parallel; `cold` and `warm`, the simulated seconds of a run without images and with them:
pods are set up in 2 s, images in 8 s, two at a time; an edge takes 0.5 ms inside of a pod and 5 ms
between pods; pods have 1 processor, those of random layers 2; streams have 5 messages; `circles`,
how many groupings have groups that wait for each other; `ms`, the processor time of the method.

`contraction+` is `contraction` with lost seconds at 20 each; `one group` is the paper's default
baseline, all operators in a group, which ignores tags and cannot run in truth.

Last, the 14 operators run as real processes, with the setting up of a process for that of a pod:
seconds over those of `none`, the best of some repeats, which are taken in turn. There a lost second
costs `contraction+` 2,000, as a group costs 50 and a process is there after about 25 ms.

Exit code 1 says that the groups of some batch steps wait for each other in a circle, that a
grouping is not valid, or that something costs less than what is proved to be the best.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from workloads import fibonacci_runs, pipelines
from workloads.grouping_simulation import Platform, simulate
from workloads.options import Options, table

from couler.errors import ConfigurationError, CoulerError
from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.problem import CONNECTION, Costs, Group, Grouping, Image, Problem
from couler.optimizers.grouping.solution import (
    Solution,
    is_acyclic,
    lost_seconds,
    numbers_of,
    price,
    violations,
)

LOST_COST = 20.0
DRAWS, DRAWS_QUICK = 5, 2
LAYERS, LAYERS_QUICK = {50: 3, 200: 3, 1000: 1}, {50: 1}
"""How many random layers of each size are drawn."""

EXACT_SIZE = 50
"""Up to so many operators CP-SAT is asked."""

EXACT_S = 20.0
REPEATS = 5
REAL_FIRST = {"line": 8, "parallel": 24}
REAL_STEP = 2
REAL_LOST_COST = 2000.0
"""A group costs 50, and a process is there after about 25 ms."""

COLD = Platform(pod_s=2.0, inside_s=0.0005, between_s=0.005, setups_at_once=2)


@dataclasses.dataclass(frozen=True)
class Row:
    """What one method does with one problem."""

    workload: str
    mode: str
    operators: int
    special: int | None
    step: int | None
    draw: int
    method: str
    cost: float
    best: float | None
    is_proved: bool
    groups: int
    lost_s: float
    cold_s: float
    warm_s: float
    is_acyclic: bool
    violations: int
    method_s: float


def with_lost(problem: Problem, per_s: float = LOST_COST) -> Problem:
    costs = Costs(CONNECTION.intra, CONNECTION.inter, CONNECTION.group, per_lost_s=per_s)
    return dataclasses.replace(problem, costs=costs)


def one_group(problem: Problem) -> Solution:
    """Return all operators in one group, of an image that has all tags."""
    names = tuple(problem.operators[node].name for node in problem.order)
    grouping = (Group("all", names),)
    return Solution(grouping, price(with_all(problem), grouping).total)


def with_all(problem: Problem) -> Problem:
    """Return the problem with an image that has all tags."""
    every = frozenset(tag for one in problem.operators for tag in one.tags)
    image = Image("all", every, pipelines.IMAGE_S)
    return dataclasses.replace(problem, images=(*problem.images, image))


Method = Callable[[Problem], Solution]


def methods(mode: str, operators: int, seed: int = 0) -> dict[str, Method]:
    """Return what is compared, by name; what needs an extra that is missing is left out."""
    found: dict[str, Method] = {
        "one group": one_group,
        "none": lambda problem: group_operators(problem, "none"),
        "random": lambda problem: group_operators(problem, "random", seed=seed),
        "node": lambda problem: group_operators(problem, "node"),
        "connection": lambda problem: group_operators(problem, "connection"),
        "contraction": lambda problem: group_operators(problem, "contraction"),
        "contraction+": lambda problem: group_operators(with_lost(problem), "contraction"),
        "milp": lambda problem: group_operators(problem, "milp"),
    }
    if mode == "batch" and operators <= EXACT_SIZE:
        found["cp-sat"] = lambda problem: group_operators(problem, "cp-sat", seconds=EXACT_S)
    for name in ("milp", "cp-sat"):
        if name in found and missing(name) is not None:
            del found[name]
    return found


@functools.cache
def missing(name: str) -> str | None:
    """Return and print why a method cannot be used here, if that is so."""
    tiny = pipelines.as_batch(pipelines.paper("line", 1, 2, random.Random(0)))
    try:
        group_operators(tiny, name)
    except ConfigurationError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return str(error)
    return None


def lost_of(problem: Problem, grouping: Grouping) -> float:
    groups = [[problem.index[name] for name in group.operators] for group in grouping]
    return lost_seconds(problem, numbers_of(problem, grouping), groups)


def measure(
    problem: Problem,
    some: dict[str, Method],
    workload: str,
    draw: int,
    special: int | None = None,
    step: int | None = None,
) -> list[Row]:
    """Return the figures of all methods for one problem."""
    cold = dataclasses.replace(COLD, messages=5 if problem.mode == "streaming" else 1)
    warm = dataclasses.replace(cold, is_warm=True)
    solved = {}
    for name, method in some.items():
        begin = time.process_time()
        solution = method(problem)
        solved[name] = solution, time.process_time() - begin
    bounds = [one.bound for one, _ in solved.values() if one.bound is not None]
    best = max(bounds, default=None)
    valid = [
        price(problem, one.grouping).total
        for name, (one, _) in solved.items()
        if name != "one group"
    ]
    is_proved = best is not None and min(valid) <= best + 1e-6
    rows = []
    for name, (solution, seconds) in solved.items():
        seen = with_all(problem) if name == "one group" else problem
        rows.append(
            Row(
                workload,
                problem.mode,
                len(problem.operators),
                special,
                step,
                draw,
                name,
                price(seen, solution.grouping).total,
                best,
                is_proved,
                len(solution.grouping),
                lost_of(seen, solution.grouping),
                simulate(seen, solution.grouping, cold),
                simulate(seen, solution.grouping, warm),
                is_acyclic(seen, solution.grouping),
                len(violations(seen, solution.grouping)),
                seconds,
            )
        )
    return rows


def paper_rows(options: Options) -> list[Row]:
    rows = []
    draws = DRAWS_QUICK if options.quick else DRAWS
    for mode in ("streaming", "batch"):
        for draw in range(draws):
            some = methods(mode, 14, options.seed + draw)
            for topology, special, step in itertools.product(
                pipelines.TOPOLOGIES, (1, 2, 3, 4), (2, 3, 4)
            ):
                # The same tags for each step and mode.
                seed = f"{options.seed} {topology} {special} {draw}"
                problem = pipelines.paper(topology, special, step, random.Random(seed))
                if mode == "batch":
                    problem = pipelines.as_batch(problem)
                rows += measure(problem, some, topology, draw, special, step)
    return rows


def layered_rows(options: Options) -> list[Row]:
    rows = []
    for mode in ("streaming", "batch"):
        for count, draws in (LAYERS_QUICK if options.quick else LAYERS).items():
            for draw in range(draws):
                some = methods(mode, count, options.seed + draw)
                problem = pipelines.layered(count, random.Random(f"{options.seed} {count} {draw}"))
                if mode == "batch":
                    problem = pipelines.as_batch(problem)
                rows += measure(problem, some, "layers", draw)
    return rows


@dataclasses.dataclass(frozen=True)
class RealRow:
    """What one method brings in a real run."""

    workload: str
    method: str
    groups: int
    seconds: float
    ratio: float


def real_rows(options: Options) -> list[RealRow]:
    """Return the seconds of real runs, the best of some repeats."""
    rows = []
    some = methods("batch", 14, options.seed)
    del some["one group"]
    some["contraction+"] = lambda problem: group_operators(
        with_lost(problem, REAL_LOST_COST), "contraction"
    )
    for topology in pipelines.TOPOLOGIES:
        draw = random.Random(f"{options.seed} {topology} real")
        problem = pipelines.as_batch(pipelines.paper(topology, 2, REAL_STEP, draw))
        first = REAL_FIRST[topology]
        problem = with_real_seconds(problem, pipelines.numbers(topology, REAL_STEP, first))
        length = pipelines.COMPUTING if topology == "line" else 4
        groupings = {name: method(problem).grouping for name, method in some.items()}
        best = dict.fromkeys(groupings, float("inf"))
        for _ in range(2 if options.quick else REPEATS):
            for name, grouping in groupings.items():
                seconds, value = fibonacci_runs.run(problem, grouping, first, REAL_STEP)
                if value != first + REAL_STEP * length:
                    raise RuntimeError(f"{name}: the terminator got {value}")
                best[name] = min(best[name], seconds)
        rows += [
            RealRow(topology, name, len(groupings[name]), seconds, seconds / best["none"])
            for name, seconds in best.items()
        ]
    return rows


def with_real_seconds(problem: Problem, numbers: Sequence[int]) -> Problem:
    """Return the problem with what the naive recursion takes in Python: 100 ns a unit of F(n)."""
    seconds = [0.0, *(1e-7 * pipelines.fibonacci(one) for one in numbers), 0.0]
    operators = tuple(
        dataclasses.replace(one, seconds=some)
        for one, some in zip(problem.operators, seconds, strict=True)
    )
    return dataclasses.replace(problem, operators=operators)


HEADS = (
    *("workload", "mode", "method", "cost", "best", "over", "at most", "groups"),
    *("lost s", "cold", "warm", "circles", "ms"),
)


def lines(rows: Sequence[Row], names: Callable[[Row], str]) -> list[tuple[str, ...]]:
    """Return one line for each workload, mode and method."""
    found = []
    for key in dict.fromkeys((names(row), row.mode, row.method) for row in rows):
        some = [row for row in rows if (names(row), row.mode, row.method) == key]
        over = [row.cost / row.best - 1 for row in some if row.best]
        mark = "" if all(row.is_proved for row in some) else "~"
        is_real = key[2] != "one group"
        found.append(
            (
                *key,
                f"{statistics.mean(row.cost for row in some):.1f}",
                mark + f"{statistics.mean(row.best or 0.0 for row in some):.1f}" if over else "-",
                f"{statistics.mean(over):+.1%}" if over and is_real else "-",
                f"{max(over):+.1%}" if over and is_real else "-",
                f"{statistics.mean(row.groups for row in some):.1f}",
                f"{statistics.mean(row.lost_s for row in some):.2f}",
                f"{statistics.mean(row.cold_s for row in some):.2f}",
                f"{statistics.mean(row.warm_s for row in some):.2f}",
                str(sum(not row.is_acyclic for row in some)),
                f"{1000 * statistics.median(row.method_s for row in some):.1f}",
            )
        )
    return found


def wrongs(rows: Sequence[Row]) -> list[str]:
    """Return what must not be."""
    found = []
    for row in rows:
        where = f"{row.workload} of {row.operators}, {row.mode}, {row.method}, draw {row.draw}"
        if row.mode == "batch" and not row.is_acyclic:
            found.append(f"{where}: groups wait for each other in a circle")
        if row.violations:
            found.append(f"{where}: {row.violations} violations")
        if row.best is not None and row.method != "one group" and row.cost < row.best - 1e-6:
            found.append(f"{where}: costs {row.cost}, and {row.best} is proved to be the least")
    return found


def options_of(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all rows there")
    parser.add_argument("--seed", type=int, default=1, help="of all draws; default %(default)s")
    parser.add_argument("--quick", action="store_true", help="few draws, and small layers")
    options = parser.parse_args(arguments, namespace=Options())
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {options.json.absolute().parent}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = options_of(arguments)
    try:
        paper = paper_rows(options)
        layers = layered_rows(options)
        real = real_rows(options)
    except CoulerError as error:
        sys.exit(str(error))
    print("the paper's pipelines of 14 operators, 1 to 4 of them special, steps 2 to 4")
    print(table(HEADS, lines(paper, lambda row: row.workload), 3))
    print()
    print("by the number of special operators, streaming, mean cost")
    streaming = [row for row in paper if row.mode == "streaming"]
    found = lines(streaming, lambda row: f"{row.workload} {row.special}")
    print(table(HEADS[:8], [line[:8] for line in found], 3))
    print()
    print("by the Fibonacci step, streaming, mean seconds of a run")
    found = lines(streaming, lambda row: f"{row.workload} step {row.step}")
    shown = (0, 2, 7, 8, 9, 10)
    print(table([HEADS[at] for at in shown], [[line[at] for at in shown] for line in found], 2))
    print()
    print("random layers")
    print(table(HEADS, lines(layers, lambda row: f"layers {row.operators}"), 3))
    print()
    print("real runs of batch steps: seconds, and over those of none")
    heads = ("workload", "method", "groups", "s", "ratio")
    print(
        table(
            heads,
            [
                (
                    row.workload,
                    row.method,
                    str(row.groups),
                    f"{row.seconds:.3f}",
                    f"{row.ratio:.2f}",
                )
                for row in real
            ],
            2,
        )
    )
    options.write(
        rows=[dataclasses.asdict(row) for row in (*paper, *layers)],
        real=[dataclasses.asdict(row) for row in real],
    )
    wrong = wrongs([*paper, *layers])
    print()
    print(*(wrong or ["all groupings are valid, and those of batch steps acyclic"]), sep="\n")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
