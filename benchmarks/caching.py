"""What policies of caching save: on real workflows, and on the scenarios of the Couler paper.

Runs are simulated on 8 workers (4 for the scenarios); a miss is read again from a remote store, at
0.5 s and 100 MB/s. Real workflows are read from WfFormat files, with caches of 2, 5 and 20 % of all
their files; the scenarios have caches of 10, 20 and 30 GB, at 10 ms and 1 GB/s, and are run a
second time with misses that are made again.

    python benchmarks/caching.py [--data DIR] [--json OUT] [--seed N] [--quick | --whole]
                                 [--markdown] [--plots DIR] [--jobs N] [--left-shares]

Policies are compared on one sequence of reads, that of a run that reading does not hold up, as only
then the best is known: the most that any cache can save is the solution of a linear program. The
columns of real workflows, of small ones and of all (`on`, of how many): `share`, of that most, what
a policy saves; `cost`, what reading costs over what it costs without a cache; `hits`, the share of
reads; `time`, of a run that reading does hold up, over that without a cache; `peak` and `mean`,
what is held then, over all files; `hits` and what follows it are of small ones alone. The policies
of the paper are tried on workflows of at most 700 steps, and on all with `--whole`, which takes
much longer. `belady` and `belady-size` know the order in which steps will start.

Goals come last: the default reaches 96 % of the most on the mean without run times and 97.5 % with
them, and reading costs more than with LRU for at most 2 % of the pairs of workflow and cache, by
at most 1 %. Exit code 1 says that one is missed.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import statistics
import sys
import typing as t
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from workloads import caching_plots, holdout, scenarios, wfformat
from workloads.caching_runs import (
    DEFAULT,
    SHARES,
    SMALL,
    TIMED,
    Contender,
    Limit,
    Row,
    contenders,
    measure_real,
    measure_scenario,
)
from workloads.options import Options, parse, parser_of, table

from couler.caching.graph import ArtifactGraph
from couler.errors import SerializationError

Result = t.TypeVar("Result")

QUICK_EVERY = 6

SHARE_GOAL = 0.96
TIMED_SHARE_GOAL = 0.975
WORSE_PAIRS_GOAL = 0.02
WORSE_COST_GOAL = 0.01

INTEGRAL_S = 2.0
"""How long the integer program of one workflow and cache is tried for."""

DOCUMENTED = ("none", "all", "fifo", "lru", "couler-paper", "couler", DEFAULT)
"""The policies of the table of scenarios in the documentation: those of the paper, and ours."""


def real_figures(options: Options, policies: Sequence[Contender]) -> tuple[list[Row], list[Limit]]:
    """Return the figures of all workflows of a folder that read anything."""
    work = [
        (name, graph, policies, options.seed, 0.0 if options.quick else INTEGRAL_S, options.whole)
        for name, graph in real_workflows(options)
    ]
    done = measured(measure_real, work, options.jobs)
    return [one for rows, _ in done for one in rows], [one for _, some in done for one in some]


def real_workflows(options: Options) -> list[tuple[str, ArtifactGraph]]:
    """Return the workflows of a folder; if it has to be quick, some of the small ones."""
    found = [
        (name, graph)
        for name, graph in wfformat.artifact_instances(options.data)
        if not options.quick or len(graph.jobs) <= SMALL
    ]
    return found[::QUICK_EVERY] if options.quick else found


def measured(
    measure: Callable[..., Result], work: Sequence[tuple[t.Any, ...]], jobs: int
) -> list[Result]:
    """Return what is measured of each piece of work, so many at a time."""
    if jobs == 1 or not work:
        return list(itertools.starmap(measure, work))
    with ProcessPoolExecutor(jobs) as workers:
        return list(workers.map(measure, *zip(*work, strict=True)))


def print_left_shares(options: Options) -> None:
    """Print what the default saves by what a byte left free counts, chosen on half of the rest."""
    work = [(name, graph, options.seed) for name, graph in real_workflows(options)]
    tried = list(itertools.chain(*measured(holdout.try_left_shares, work, options.jobs)))
    means, chosen = holdout.choose(tried)
    if not chosen:
        print("two applications are needed of which something can be saved")
    else:
        lines = [(f"{left:g}", *map(percent, shares)) for left, shares in means.items()]
        print(table(("left share", "first half", "second half"), lines, 1))
    for half, one in zip(("first", "second"), chosen, strict=False):
        print(
            f"chosen on the {half} half: {one.left_share:g}, with {percent(one.own)}; on the other "
            f"half {percent(one.other)}, where the best is {percent(one.best)}"
        )
    options.write(tried=[dataclasses.asdict(one) for one in tried])


def mean(values: Sequence[float]) -> float:
    return statistics.mean(values) if values else math.nan


def shares(rows: Sequence[Row]) -> list[float]:
    """Return the shares where anything can be saved."""
    return [row.share for row in rows if row.share is not None]


REAL_HEADS = (
    *("policy", "small: share", "cost", "hits", "time", "peak", "mean"),
    *("all: on", "share", *(f"at {share:.0%}" for share in SHARES), "cost"),
)


def real_lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return one line for each policy: means over the small workflows, and over all."""
    lines = []
    for policy in dict.fromkeys(row.policy for row in rows):
        some = [row for row in rows if row.policy == policy]
        small = [row for row in some if row.jobs <= SMALL]
        at = [shares([row for row in some if row.cache == f"{share:.0%}"]) for share in SHARES]
        lines.append(
            (
                policy,
                percent(mean(shares(small))),
                decimal(mean([row.cost for row in small])),
                percent(mean([row.hits for row in small])),
                decimal(mean([row.time for row in small if row.time is not None])),
                percent(mean([(row.peak_bytes or 0) / (row.artifact_bytes or 1) for row in small])),
                percent(mean([(row.mean_bytes or 0) / (row.artifact_bytes or 1) for row in small])),
                str(len({row.name for row in some})),
                *(percent(mean(one)) for one in (shares(some), *at)),
                decimal(mean([row.cost for row in some])),
            )
        )
    return lines


def decimal(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}".replace("%", " %")


SCENARIO_HEADS = (
    "scenario",
    "cache",
    "policy",
    "share",
    "cost",
    "hits",
    "s",
    "made again: s",
    "peak GB",
    "mean GB",
)


def scenario_lines(rows: Sequence[Row], policies: Sequence[str]) -> list[tuple[str, ...]]:
    """Return one line for each scenario, cache and policy."""
    again = {(row.name, row.cache, row.policy): row for row in rows if row.misses == "recompute"}
    return [
        (
            row.name,
            row.cache,
            row.policy,
            percent(math.nan if row.share is None else row.share),
            f"{row.cost:.3f}",
            percent(row.hits),
            f"{row.seconds:,.0f}",
            f"{again[row.name, row.cache, row.policy].seconds:,.0f}",
            f"{row.peak_bytes / scenarios.GB:.1f}",
            f"{row.mean_bytes / scenarios.GB:.1f}",
        )
        for row in rows
        if row.misses == "reread" and row.policy in policies
    ]


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]], texts: int) -> str:
    rule = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *lines))


def print_limits(limits: Sequence[Limit]) -> None:
    """Print what can be saved at most, and how near the best cache comes."""
    most = mean([one.linear_s / one.cost_s for one in limits if one.cost_s])
    print(f"the most that can be saved of the cost of reading: {percent(most)}")
    solved = [one for one in limits if one.integral_s is not None and one.linear_s]
    if solved:
        ratios = [one.integral_s / one.linear_s for one in solved]
        print(
            f"the best cache of whole artifacts, in {len(solved)} pairs where it "
            f"was found in {INTEGRAL_S:g} s: {percent(mean(ratios))} of that, at least "
            f"{percent(min(ratios))}"
        )


def verdict(what: str, figure: float, goal: float, *, is_least: bool) -> bool:
    """Print a figure beside its goal, and return whether it is reached."""
    reached = figure >= goal if is_least else figure <= goal + 1e-12
    sign = ">=" if is_least else "<="
    result = "ok" if reached else "MISSED"
    print(f"{what:<50}{percent(figure):>9}  goal {sign} {percent(goal):<7} {result}")
    return reached


def verdicts(rows: Sequence[Row]) -> bool:
    """Print what the default must reach on real workflows; return whether it does."""
    of = {(row.name, row.cache, row.policy): row for row in rows}
    reached = []
    for policy, goal in ((DEFAULT, SHARE_GOAL), (TIMED, TIMED_SHARE_GOAL)):
        some = [row for row in rows if row.policy == policy]
        reached.append(verdict(f"{policy}: share", mean(shares(some)), goal, is_least=True))
        parts = [
            mean(shares([row for row in some if row.name in half]))
            for half in holdout.halves({row.name for row in some})
        ]
        print("  of two halves of the applications: {} and {}".format(*map(percent, parts)))
        excess = {
            (row.name, row.cache): row.cost / of[row.name, row.cache, "lru"].cost - 1
            for row in some
            if row.cost > of[row.name, row.cache, "lru"].cost * (1 + 1e-9)
        }
        for (name, cache), more in excess.items():
            print(f"  reads cost {more:.2%} more than with LRU: {name}, cache of {cache}")
        worst = max(excess.values(), default=0.0)
        part = len(excess) / len(some)
        reached += [
            verdict(
                f"{policy}: pairs in which LRU is better", part, WORSE_PAIRS_GOAL, is_least=False
            ),
            verdict(f"{policy}: by at most", worst, WORSE_COST_GOAL, is_least=False),
        ]
    return all(reached)


def options_of(arguments: Sequence[str] | None) -> Options:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--markdown", action="store_true", help="print the tables of docs/caching.md at the end"
    )
    parser.add_argument(
        "--plots", type=Path, metavar="DIR", help="write plots of the scenarios there, as SVG"
    )
    parser.add_argument(
        "--whole", action="store_true", help="try all policies on the largest workflows as well"
    )
    parser.add_argument(
        "--left-shares",
        action="store_true",
        help="only choose what is left free on half of the applications, and try it on the others",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="measure so many workflows at a time; default %(default)s",
    )
    options = parse(parser, arguments)
    if options.plots is not None and not options.plots.is_dir():
        parser.error(f"--plots: there is no folder {options.plots}")
    if options.jobs < 1:
        parser.error("--jobs: at least 1")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = options_of(arguments)
    if options.left_shares:
        print_left_shares(options)
        return
    policies = contenders()
    real: list[Row] = []
    limits: list[Limit] = []
    if options.data.is_dir():
        try:
            real, limits = real_figures(options, policies)
        except SerializationError as error:
            sys.exit(str(error))
    if real:
        small = {row.name for row in real if row.jobs <= SMALL}
        every = {row.name for row in real}
        print(f"{len(every)} real workflows, {len(small)} of at most {SMALL} steps")
        print(table(REAL_HEADS, real_lines(real), 1))
        print_limits(limits)
    else:
        print(f"no real workflows in {options.data}: left out")
    sizes = scenarios.CACHE_GB[1:2] if options.quick else scenarios.CACHE_GB
    staged: list[Row] = []
    for name in scenarios.SCENARIOS:
        rows, reports = measure_scenario(name, sizes, policies)
        staged += rows
        if options.plots is not None:
            caching_plots.write(options.plots, name, rows, reports)
    everyone = [one.name for one in policies]
    print()
    print(table(SCENARIO_HEADS, scenario_lines(staged, everyone), 3))
    options.write(
        rows=[dataclasses.asdict(row) for row in (*real, *staged)],
        limits=[dataclasses.asdict(limit) for limit in limits],
    )
    if options.markdown:
        print()
        print(markdown(REAL_HEADS, real_lines(real), 1))
        print()
        middle = f"{scenarios.CACHE_GB[1]} GB"
        shown = scenario_lines([row for row in staged if row.cache == middle], DOCUMENTED)
        print(markdown(SCENARIO_HEADS, shown, 3))
    print()
    if real and not verdicts(real):
        sys.exit("some goal is missed")


if __name__ == "__main__":
    main()
