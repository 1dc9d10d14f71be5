"""The log of a pipeline as text: a table of sizes and estimates, and what each pass did and why."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from couler.ir.walk import steps_by_path
from couler.ir.wording import counted
from couler.ir.workflow import Workflow
from couler.optimizers.diff import Added, Change, Changed, Moved, Removed, path_of
from couler.optimizers.estimate import Estimate, Figure, Prices, StepTimes, estimate
from couler.optimizers.pipeline import PassRecord, Size, measure
from couler.plugin_options import is_size_name, plain_text

COLUMNS = ("", "took", "steps", "edges", "bytes", "critical path", "peak memory", "cost")
"""Heads of the table; the first column names the pass."""

WHOLE = "all passes"
"""Name of the last row, from before the first pass to after the last."""

MOST_CHANGES = 20
"""Of more changes than these, those that are alike share a line; the JSON has all."""

_FEW = 3
"""So many of changes that are alike are named."""

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: what was before and what is after."""

    name: str
    seconds: float
    sizes: tuple[Size, Size]
    estimates: tuple[Estimate, Estimate]

    def cells(self, currency: str = "") -> tuple[str, ...]:
        """Return the texts of the row."""
        before, after = self.sizes
        cells = [
            self.name,
            f"{self.seconds:.3f} s",
            growth_text(before.steps, after.steps),
            growth_text(before.edges, after.edges),
            growth_text(before.size_bytes, after.size_bytes),
        ]
        one, other = self.estimates
        for figures, write in (
            ((one.seconds, other.seconds), seconds_text),
            ((one.memory_bytes, other.memory_bytes), bytes_text),
            ((one.cost, other.cost), lambda value: f"{value:,.4g} {currency}".rstrip()),
        ):
            texts = [figure_text(figure, write) for figure in figures]
            cells.append(" -> ".join(dict.fromkeys(texts)))
        return tuple(cells)


def rows_of(
    source: Workflow,
    records: Sequence[PassRecord],
    prices: Prices | None = None,
    *,
    parts_are_barriers: bool = False,
) -> tuple[Row, ...]:
    """Return a row for each pass, and one for all of them."""
    has_prices = prices is not None and prices.are_known

    def figures_of(workflow: Workflow, times: StepTimes, cost: Figure | None = None) -> Estimate:
        found = estimate(workflow, prices, parts_are_barriers=parts_are_barriers, times=times)
        return found if cost is None else replace(found, cost=cost)

    size, figures = measure(source), figures_of(source, {})
    first = size, figures
    cost: Figure | None = None
    rows: list[Row] = []
    for record in records:
        before = size, figures
        told = None if has_prices else record.cost
        cost = told or cost
        is_told = told is not None or record.times is not None
        if record.after is not record.before or is_told:
            size, figures = record.size_after, figures_of(record.after, record.known_times, cost)
        name = record.name + options_text(record)
        rows.append(Row(name, record.seconds, (before[0], size), (before[1], figures)))
    seconds = sum(record.seconds for record in records)
    rows.append(Row(WHOLE, seconds, (first[0], size), (first[1], figures)))
    return tuple(rows)


def table_text(rows: Sequence[Row], currency: str = "") -> str:
    """Return the rows as a table."""
    cells = [COLUMNS, *(row.cells(currency) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def pass_of_costs(records: Sequence[PassRecord], prices: Prices | None = None) -> str | None:
    """Return the name of the pass whose figures stand for the cost; None where there is none."""
    if prices is not None and prices.are_known:
        return None
    return next((one.name for one in reversed(records) if one.cost is not None), None)


def pass_of_times(records: Sequence[PassRecord]) -> str | None:
    """Return the name of the pass by whose times estimates go in the end; None if by none."""
    if not records or not records[-1].known_times:
        return None
    return next((one.name for one in reversed(records) if one.times is not None), None)


def known_text(
    figures: Estimate,
    prices: Prices | None,
    steps: int | None = None,
    *,
    costs_by: str | None = None,
    seconds_by: str | None = None,
    timed: int = 0,
) -> str:
    """Return of how many steps the estimates know."""
    count = figures.seconds.steps
    if count == 0:
        return "estimates: no step runs anything"
    seconds, memory = figures.seconds.known, figures.memory_bytes.known
    apart = ""
    if steps is not None and steps != count:
        apart = " (groups and exit handlers of a failure apart)"
    where = "" if seconds_by is None else f"on the machines that {seconds_by} chose"
    if where:
        where = f" {where}" if timed == seconds else f" ({timed:,} {where})"
    known = (
        f"seconds are known of {seconds:,} of {counted(count, 'step')}{apart}{where}, "
        f"memory of {memory:,}"
    )
    if costs_by is not None:
        cost = f"cost of {figures.cost.known:,} of {figures.cost.steps:,}"
        return f"estimates: {known}; {cost}: machines while they run any of it, by {costs_by}"
    if prices is None or not prices.are_known:
        return f"estimates: {known}; no prices are set"
    return f"estimates: {known}, cost of {figures.cost.known:,}"


def log_text(records: Sequence[PassRecord]) -> str:
    """Return for each pass what it did, and why."""
    if not records:
        return "no passes ran"
    lines: list[str] = []
    for record in records:
        lines.append(record.name + options_text(record))
        if record.reason:
            lines.append(f"    {record.reason}")
        lines.extend(f"    {line}" for line in change_lines(record))
    return "\n".join(lines)


def change_lines(record: PassRecord, most: int = MOST_CHANGES) -> Iterator[str]:
    """Yield the changes of a pass, each with its reason if it has one of its own."""
    yield from _changed_lines(record, most)
    yield from _kept_lines(record, most)


def _kept_lines(record: PassRecord, most: int) -> Iterator[str]:
    """Yield the steps that a pass left as they are, with its reasons."""
    if not record.step_reasons:
        return
    changed = {path for one in record.changes for path in (one.step, path_of(one))}
    there = {path for path, _ in steps_by_path(record.after)}
    alike: dict[str, list[str]] = {}
    for path, why in record.step_reasons.items():
        if path in there and path not in changed:
            alike.setdefault(why, []).append(path)
    left = sum(map(len, alike.values()))
    is_long, lines = left > most, 0
    for why, paths in alike.items():
        if is_long and lines >= most:
            break
        if is_long and len(paths) > _FEW:
            yield f"= {len(paths):,} steps: {', '.join(paths[:_FEW])}, ... ({why})"
            lines += 1
        else:
            yield from (f"= {path} ({why})" for path in paths)
            lines += len(paths)
        left -= len(paths)
    if left:
        yield f"... and {counted(left, 'more step')} that stayed"


def _changed_lines(record: PassRecord, most: int) -> Iterator[str]:
    changes = record.changes
    if not changes:
        yield "nothing changed"
    if len(changes) <= most:
        yield from (_told(change, record.reason_of(change)) for change in changes)
        return
    alike: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        fields = () if isinstance(change, Added | Removed) else change.fields
        kind = change.step is None, type(change), fields, record.reason_of(change)
        alike.setdefault(kind, []).append(change)
    left, lines = len(changes), 0
    for (*_, why), group in alike.items():
        if lines >= most:
            break
        shown = group if len(group) <= _FEW else [group]
        for one in shown:
            yield _told(one, str(why)) if not isinstance(one, list) else _many(one, str(why))
        lines += len(shown)
        left -= len(group)
    if left:
        yield f"... and {counted(left, 'more change')}"


def _told(change: Change, why: str) -> str:
    return change_text(change) + (f" ({why})" if why else "")


def _many(changes: Sequence[Change], why: str) -> str:
    """Return changes that are alike as a line, with the first of them."""
    first = changes[0]
    count = f"{len(changes):,} steps"
    names = ", ".join(path_of(change) or "" for change in changes[:_FEW])
    match first:
        case Added():
            text = f"+ {count}: {names}, ..."
        case Removed():
            text = f"- {count}: {names}, ..."
        case Changed():
            text = f"~ {', '.join(first.fields)} of {count}: {names}, ..."
        case Moved():
            others = f", with another {', '.join(first.fields)}" if first.fields else ""
            text = f"> {count} have moved{others}: {names}, ..."
        case _:
            t.assert_never(first)
    return text + (f" ({why})" if why else "")


def change_text(change: Change) -> str:
    """Return a change as a line."""
    match change:
        case Added():
            return f"+ {change.step}"
        case Removed():
            return f"- {change.step}"
        case Changed():
            return f"~ {change.step or 'the workflow'}: {', '.join(change.fields)}"
        case Moved():
            others = f", with another {', '.join(change.fields)}" if change.fields else ""
            return f"> {change.step} is now {change.to}{others}"
    t.assert_never(change)


def options_text(record: PassRecord) -> str:
    """Return the options of a pass that are not its defaults, as they are written."""
    told = [
        f"{name}={plain_text(value, is_size=is_size_name(name))}"
        for name, value in record.options.items()
        if name not in record.defaults
    ]
    return f"{{{', '.join(told)}}}" if told else ""


def growth_text(before: int, after: int) -> str:
    """Return a number, or two with an arrow between them if it changed."""
    return f"{before:,}" if before == after else f"{before:,} -> {after:,}"


def figure_text(figure: Figure, write: Callable[[float], str]) -> str:
    """Return a figure; of a lower bound, say that it is one."""
    if figure.value is None:
        return "unknown"
    return write(figure.value) if figure.is_whole else f">= {write(figure.value)}"


def seconds_text(seconds: float) -> str:
    """Return a duration in seconds."""
    return f"{seconds:,.1f} s"


def bytes_text(count: float) -> str:
    """Return a number of bytes."""
    if count < 1024:
        return f"{count:.0f} B"
    power = 1
    while count >= 1024 ** (power + 1) and power < len(_UNITS):
        power += 1
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if number == 0 else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *others)).rstrip()
