"""Plots of placement, after Figures 6 to 13 of the placement paper.

`scenario-1-times.svg` has total time and mean waiting by strategy (Figures 6 and 7), and
`scenario-1-pipelines.svg` both for each pipeline (Figures 8 and 9). `scenario-2-running.svg` has
the numbers of running and of waiting pipelines over time, a row for each strategy (Figures 10 to
13).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from couler.optimizers.placement.report import Report
from workloads.placement_scenarios import mean_waiting_s

COLORS = {
    "random": "#888888",
    "fcfs-random": "#b07aa1",
    "fcfs-round-robin": "#4e79a7",
    "kubernetes": "#000000",
    "sjf-groups": "#d1495b",
    "upward-rank": "#2a9d5c",
}
"""The strategies that are drawn."""


def write(folder: Path, first: Mapping[str, Report], second: Mapping[str, Report]) -> None:
    """Write all plots: reports of both scenarios, by strategy."""
    undated = {"Date": None}
    _times(first).savefig(folder / "scenario-1-times.svg", metadata=undated)
    _pipelines(first).savefig(folder / "scenario-1-pipelines.svg", metadata=undated)
    _running(second).savefig(folder / "scenario-2-running.svg", metadata=undated)


def _times(reports: Mapping[str, Report]) -> Figure:
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    figure.suptitle("scenario 1")
    shown = [name for name in COLORS if name in reports]
    waits = [name for name in shown if name != "kubernetes"]  # has no waiting pipelines
    for axes, what, names, values in zip(
        figure.subplots(1, 2),
        ("total time, s", "mean waiting, s"),
        (shown, waits),
        (
            [reports[name].total_s for name in shown],
            [mean_waiting_s(reports[name]) for name in waits],
        ),
        strict=True,
    ):
        bars = axes.barh(names, values, color=[COLORS[name] for name in names])
        axes.bar_label(bars, fmt="%.0f", padding=2, fontsize=8)
        axes.invert_yaxis()
        axes.set(xlabel=what)
        axes.margins(x=0.12)
    return figure


def _pipelines(reports: Mapping[str, Report]) -> Figure:
    figure = Figure(figsize=(11, 6), layout="constrained")
    figure.suptitle("scenario 1, pipelines in the order in which they are submitted")
    shown = [name for name in COLORS if name in reports]
    names = [one.name for one in reports[shown[0]].pipelines]
    width = 0.8 / len(shown)
    axes = figure.subplots(2, 1, sharex=True)
    for number, name in enumerate(shown):
        at = [one + (number - len(shown) / 2 + 0.5) * width for one in range(len(names))]
        times = reports[name].pipelines
        axes[0].bar(at, [x.end_s - x.start_s for x in times], width, color=COLORS[name], label=name)
        axes[1].bar(at, [x.waiting_s for x in times], width, color=COLORS[name])
    for one, what in zip(axes, ("run, s", "waiting, s"), strict=True):
        one.set(ylabel=what)
        one.grid(axis="y", alpha=0.3)
        one.set_axisbelow(True)
    axes[0].set_yscale("log")
    axes[0].legend(fontsize=8, ncols=3)
    axes[1].set_xticks(range(len(names)))
    axes[1].set_xticklabels(names, rotation=30, ha="right", fontsize=8)
    return figure


def _running(reports: Mapping[str, Report]) -> Figure:
    shown = [name for name in COLORS if name in reports]
    figure = Figure(figsize=(9, 1.5 * len(shown)), layout="constrained")
    figure.suptitle("scenario 2, groups at 0, 240 and 480 s")
    axes = figure.subplots(len(shown), 1, sharex=True, sharey=True)
    for one, name in zip(axes, shown, strict=True):
        pipelines = reports[name].pipelines
        for what, spans, color in (
            ("running", [(x.start_s, x.end_s) for x in pipelines], COLORS[name]),
            ("waiting", [(x.arrival_s, x.start_s) for x in pipelines], "#f2a43a"),
        ):
            times, counts = _stairs(spans)
            one.step(times, counts, where="post", color=color, label=what, linewidth=1.5)
        one.set_title(name, fontsize=9, loc="left")
        one.legend(fontsize=7, loc="upper right")
        one.grid(alpha=0.3)
    axes[-1].set(xlabel="seconds", xlim=(0, None), ylim=(0, None))
    return figure


def _stairs(spans: Sequence[tuple[float, float]]) -> tuple[list[float], list[int]]:
    """Return times, and how many spans there are from each on."""
    changes = Counter(begin for begin, _ in spans)
    changes.subtract(end for _, end in spans)
    times = sorted(changes)
    return [0.0, *times], list(itertools.accumulate((changes[time] for time in times), initial=0))
