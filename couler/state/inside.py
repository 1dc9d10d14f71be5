"""How the steps ended that a step ran inside, by what is kept of its log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from couler.ir.grouped import GROUPED, STOPPED, InnerEnd, Report, read_report, unbegun
from couler.ir.walk import StepPath, steps_by_path, without_places
from couler.ir.workflow import Workflow
from couler.state.records import StepRecord

_TAIL_BYTES = 8 << 20
"""How much of a log is looked through for its last line."""


def read_inside(log: str | Path, attempt: int = 1) -> Report:
    """Return how the steps inside ended, as the log of an attempt tells; nothing if it does not."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:  # what nobody can read tells nothing
        return Report()
    if attempt > 1:
        text = text.rpartition(f"--- attempt {attempt} ---\n")[2]
    return read_report(text.split("\n"))


def record_of(inner: InnerEnd, outer: StepRecord, ordinal: int) -> StepRecord:
    """Return the record of a step that ran inside of another one: beside it, by its own name."""
    path = StepPath.parse(outer.path).parent / inner.name
    is_cut = (outer.status, inner.state, inner.message) == ("cancelled", "failed", STOPPED)
    return StepRecord(
        path=str(path),
        name=inner.name,
        status="cancelled" if is_cut else inner.state,
        finished=inner.finished or outer.finished,
        session=outer.session,
        ordinal=ordinal,
        item=outer.item,
        started=inner.started,
        attempts=inner.attempts,
        message=outer.message if is_cut else inner.message,
        exit_code=inner.exit_code,
        log=outer.log if inner.attempts else None,
    )


def unknown_ends(problem: str, message: str | None) -> str:
    """Return a message of a step that also says why it is not known how those inside ended."""
    told = f"how its steps ended is not known: {problem}"
    if message is None or told in message:
        return message or told
    return f"{message}; {told}"


def with_inside(workflow: Workflow, records: Iterable[StepRecord]) -> tuple[StepRecord, ...]:
    """Return records with those of the steps inside of others that are not recorded."""
    known = {record.path: record for record in records}
    groups = {path: step for path, step in steps_by_path(workflow) if step.origin == GROUPED}
    if not groups:
        return tuple(known.values())
    found: dict[str, StepRecord] = {}
    for record in tuple(known.values()):
        step = groups.get(str(without_places(StepPath.parse(record.path))))
        if step is None:
            continue
        ends: tuple[InnerEnd, ...] = ()
        if record.log is not None:
            ends, problem = read_inside(record.log, record.attempts)
            if problem is not None:
                told = unknown_ends(problem, record.message)
                known[record.path] = replace(record, message=told)
        elif record.status in ("skipped", "omitted"):
            ends = unbegun(step, record.status, record.message)
        for inner in ends:
            made = record_of(inner, record, record.ordinal)
            found[made.path] = made
    return tuple({**found, **known}.values())
