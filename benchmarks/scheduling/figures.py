"""Plots of the simulations, after the figures of the papers of OASiS and SpeCon."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.scheduling.comparison import SchedulingOutcome, Scheme
from benchmarks.scheduling.migrations import MigrationResult
from benchmarks.scheduling.simulator import Trace
from benchmarks.scheduling.workloads import Kind

COLORS: dict[Scheme, str] = {
    "FIFO": "#888888",
    "DRF": "#b07aa1",
    "RRH": "#4e79a7",
    "Dorm": "#f2a43a",
    "OASiS-paper": "#d1495b",
    "OASiS": "#2a9d5c",
}


def oasis(
    folder: Path,
    by_size: Mapping[str, Mapping[str, Mapping[Scheme, Sequence[float]]]],
    outcomes: Mapping[Scheme, Sequence[SchedulingOutcome]],
    ratios: Mapping[str, Sequence[float]],
) -> None:
    """Write Figures 3 to 5 of OASiS, and the course of its first case."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (what, utilities) in zip(figure.subplots(1, 2), by_size.items(), strict=True):
        for scheme, color in COLORS.items():
            means = [statistics.mean(one[scheme]) for one in utilities.values()]
            axes.plot(list(utilities), means, "o-", color=color, label=scheme)
        axes.set(xlabel=what, ylabel="total utility", ylim=(0, None))
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    save(figure, folder / "oasis-utility.png")

    figure = Figure(figsize=(10, 4), layout="constrained")
    kinds: tuple[Kind, Kind] = ("sensitive", "critical")
    for axes, kind in zip(figure.subplots(1, 2), kinds, strict=True):
        late = [[x for one in outcomes[scheme] for x in one.lateness(kind)] for scheme in COLORS]
        axes.boxplot(late, tick_labels=list(COLORS), showfliers=False)
        axes.axhline(0, color="#888888", linewidth=0.8)
        axes.set(title=f"time-{kind}", ylabel="slots after the target")
    save(figure, folder / "oasis-target.png")

    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(list(ratios.values()), orientation="horizontal", tick_labels=list(ratios))
    axes.set(xlabel="possible utility by that of OASiS", xlim=(1, None))
    save(figure, folder / "oasis-ratio.png")
    first = outcomes["OASiS"][0]
    save(gantt(first.trace, [job.name for job in first.case.jobs]), folder / "oasis-gantt.png")
    save(
        utilization({name: found[0] for name, found in outcomes.items()}), folder / "oasis-use.png"
    )


def wrong_prices(
    folder: Path, factors: Sequence[float], found: Mapping[str, Sequence[float]]
) -> None:
    """Write Figure 6 of OASiS: utility with wrong U or L, by that with the right ones."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for name, values in found.items():
        axes.plot(factors, values, "o-" if name.endswith("U") else "s--", label=name)
    axes.set(xlabel="estimate by the right value", ylabel="utility by that with the right one")
    axes.legend(fontsize=7, ncols=2)
    save(figure, folder / "oasis-wrong-prices.png")


def utilization(outcomes: Mapping[Scheme, SchedulingOutcome]) -> Figure:
    """Return the share of all GPUs that workers have, by slot."""
    figure = Figure(figsize=(10, 3.5), layout="constrained")
    axes = figure.subplots()
    for scheme, outcome in outcomes.items():
        gpus = {job.name: job.worker[0] for job in outcome.case.jobs}
        total = outcome.case.servers.workers.sum(axis=0)[0]
        slots = range(outcome.case.horizon)
        used = [
            sum(
                gpus[span.job] * span.share.speed / total
                for span in outcome.trace.spans
                if span.start <= slot < span.end
            )
            for slot in slots
        ]
        axes.plot(slots, used, drawstyle="steps-post", color=COLORS[scheme], label=scheme)
    axes.set(xlabel="slot", ylabel="share of the GPUs", ylim=(0, 1))
    axes.legend(fontsize=8, ncols=3)
    return figure


def gantt(trace: Trace, names: Sequence[str]) -> Figure:
    """Return when each job runs and how fast: a row each, darker for more speed."""
    shown = [name for name in names if any(span.job == name for span in trace.spans)]
    most = max(span.share.speed for span in trace.spans)
    figure = Figure(figsize=(10, 1 + 0.16 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for name, spans in itertools.groupby(
        sorted(trace.spans, key=lambda span: shown.index(span.job)), key=lambda span: span.job
    ):
        for span in spans:
            if span.share.speed:
                axes.barh(
                    name,
                    span.end - span.start,
                    left=span.start,
                    color=COLORS["OASiS"],
                    alpha=0.15 + 0.85 * span.share.speed / most,
                )
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=6)
    axes.margins(y=0.01)
    axes.set(xlabel="time", xlim=(0, None))
    return figure


def save(figure: Figure, file: Path) -> None:
    """Write a plot that is the same each time."""
    figure.savefig(file, dpi=80, metadata={"Software": None})


def specon(folder: Path, results: Mapping[str, MigrationResult]) -> None:
    """Write Figures 8 to 11 of SpeCon: jobs on each node, and its use of the processor."""
    for what in ("jobs", "cpu"):
        figure = Figure(figsize=(10, 7), layout="constrained")
        grid = figure.subplots(4, len(results), sharex=True, sharey=True)
        for column, (name, result) in enumerate(results.items()):
            for node, axes in enumerate(grid[:, column]):
                spans = [one for one in result.trace.spans if one.share.machines[0][0] == node]
                events = sorted({one.start for one in spans} | {one.end for one in spans})
                values = [
                    sum(
                        1 if what == "jobs" else one.share.speed
                        for one in spans
                        if one.start <= time < one.end
                    )
                    for time in events
                ]
                axes.fill_between(events, values, step="post", color=COLORS["OASiS"], alpha=0.6)
                axes.set(ylabel=f"node {node + 1}")
            grid[0, column].set(title=name)
            grid[-1, column].set(xlabel="seconds")
        save(figure, folder / f"specon-{what}.png")
    figure = Figure(figsize=(10, 3), layout="constrained")
    grid = figure.subplots(1, len(results), sharex=True, sharey=True)
    for axes, (name, result) in zip(grid, results.items(), strict=True):
        for job in result.jobs:
            spans = [one for one in result.trace.spans if one.job == job.name]
            done = itertools.accumulate(
                (one.share.speed * (one.end - one.start) / job.work for one in spans), initial=0.0
            )
            times = [job.arrival, *(one.end for one in spans)]
            losses = [job.loss(part) for part in done]
            axes.plot(times, losses, color=COLORS["OASiS"], alpha=0.5, linewidth=0.8)
        axes.set(title=name, xlabel="seconds")
    grid[0].set(ylabel="loss of each job")
    save(figure, folder / "specon-loss.png")
