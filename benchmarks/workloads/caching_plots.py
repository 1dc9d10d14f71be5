"""Plots of a scenario, after Figures 7 and 11 to 16 of the Couler paper.

Two files for each: `NAME-policies.svg` has time against cost (what is held on the mean) and hit
ratios of all policies by cache size; `NAME-usage.svg` has processors and GPUs in use over time, by
policy with the cache of 20 GB in the first column (Figures 7 and 11 to 13) and by cache size with
the default policy in the second one (Figures 14 to 16).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.cache_simulation import Report, usage
from workloads import scenarios
from workloads.caching_runs import DEFAULT, Key, Row

COLORS = {
    "none": "#888888",
    "all": "#000000",
    "fifo": "#b07aa1",
    "lru": "#4e79a7",
    "couler-paper": "#f2a43a",
    "couler": "#d1495b",
    DEFAULT: "#2a9d5c",
}
"""The policies that are drawn: those of the paper, and the default."""

LABELS = {"all": "all, room for it"}

SIZE_COLORS = ("#9ecae1", "#4292c6", "#08306b")
MARKERS = "osD"


def write(folder: Path, name: str, rows: Sequence[Row], reports: Mapping[Key, Report]) -> None:
    """Write the plots of one scenario; what misses are made again is left out."""
    drawn = [row for row in rows if row.misses == "reread" and row.policy in COLORS]
    caches = list(dict.fromkeys(row.cache for row in drawn))
    stem = name.replace(" ", "-")
    undated = {"Date": None}
    _policies(name, drawn, caches).savefig(folder / f"{stem}-policies.svg", metadata=undated)
    _usage(name, reports, caches).savefig(folder / f"{stem}-usage.svg", metadata=undated)


def _policies(name: str, rows: Sequence[Row], caches: Sequence[str]) -> Figure:
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    figure.suptitle(name)
    left, right = figure.subplots(1, 2)
    for row in rows:
        left.scatter(
            (row.mean_bytes or 0) / scenarios.GB,
            (row.seconds or 0) / 60,
            color=COLORS[row.policy],
            marker=MARKERS[caches.index(row.cache) % len(MARKERS)],
            s=50,
            alpha=0.85,
        )
    left.set(xlabel="held on the mean, GB", ylabel="run, minutes")
    for policy, color in COLORS.items():
        left.scatter([], [], color=color, label=LABELS.get(policy, policy))
    for marker, cache in zip(MARKERS, caches, strict=False):
        left.scatter([], [], color="white", edgecolor="black", marker=marker, label=cache)
    left.legend(fontsize=8, ncols=2)
    width = 0.8 / len(COLORS)
    for number, (policy, color) in enumerate(COLORS.items()):
        right.bar(
            [at + (number - len(COLORS) / 2 + 0.5) * width for at in range(len(caches))],
            [row.hits for row in rows if row.policy == policy],
            width,
            color=color,
        )
    right.set(xlabel="cache", ylabel="hit ratio", ylim=(0, 1), xticks=range(len(caches)))
    right.set_xticklabels(caches)
    for axes in (left, right):
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    return figure


def _usage(name: str, reports: Mapping[Key, Report], caches: Sequence[str]) -> Figure:
    workflow = scenarios.SCENARIOS[name]()
    middle = caches[len(caches) // 2]
    by_policy = {
        policy: (color, reports[name, "reread", middle, policy]) for policy, color in COLORS.items()
    }
    by_cache = {
        cache: (color, reports[name, "reread", cache, DEFAULT])
        for cache, color in zip(caches, SIZE_COLORS, strict=False)
    }
    figure = Figure(figsize=(12, 6), layout="constrained")
    figure.suptitle(name)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    kinds = zip(
        ("processors in use", "GPUs in use"),
        scenarios.processors(workflow),
        (scenarios.CPUS, scenarios.GPUS),
        strict=True,
    )
    for row, (what, amounts, total) in zip(axes, kinds, strict=True):
        for one, lines in zip(row, (by_policy, by_cache), strict=True):
            _lines(one, lines, amounts, total)
        row[0].set(ylabel=what, ylim=(0, 1.05))
        row[0].yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes[0][0].set_title(f"policies, cache of {middle}", fontsize=10)
    axes[0][1].set_title(f"caches, policy {DEFAULT}", fontsize=10)
    for one in axes[1]:
        one.set(xlabel="minutes", xlim=(0, None))
    for one in axes[0]:
        one.legend(fontsize=8, loc="upper right")
    return figure


def _lines(
    axes: Axes,
    lines: Mapping[str, tuple[str, Report]],
    amounts: Sequence[float],
    total: float,
) -> None:
    """Draw the use of a resource as means over windows, so that lines can be told apart.

    What comes later is thinner, so that lines that lie upon each other are all seen.
    """
    for number, (label, (color, report)) in enumerate(lines.items()):
        times, shares = means(usage(report.spans, amounts), report.seconds, WINDOW_S)
        axes.plot(
            [time / 60 for time in times],
            [share / total for share in shares],
            color=color,
            label=f"{label}, {report.seconds / 60:.0f} min",
            linewidth=1.4 + 0.4 * (len(lines) - 1 - number),
        )
    axes.grid(alpha=0.3)


WINDOW_S = 300.0
"""About how long windows are; those of a run are all equally long."""


def means(
    steps: Sequence[tuple[float, float]], end_s: float, window_s: float
) -> tuple[list[float], list[float]]:
    """Return the means of a step function over equal windows, at their middles; it ends at 0.

    Examples
    --------
    >>> means([(0, 2), (5, 4), (10, 0)], 20, 9)
    ([5.0, 15.0, 20], [3.0, 0.0, 0.0])
    """
    count = max(1, round(end_s / window_s))
    width = end_s / count
    sums = [0.0] * count
    ends = [*(time for time, _ in steps[1:]), end_s]
    for (begin, value), end in zip(steps, ends, strict=False):
        for number in range(count):
            shared = min(end, (number + 1) * width) - max(begin, number * width)
            sums[number] += value * max(0.0, shared)
    middles = [(number + 0.5) * width for number in range(count)]
    return [*middles, end_s], [*(total / width if width else 0.0 for total in sums), 0.0]
