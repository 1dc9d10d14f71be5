"""How the steps ended that a step ran inside, by what is kept of its log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from couler.ir.grouped import GROUPED, InnerEnd, read_report
from couler.ir.paths import StepPath, without_places
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Workflow
from couler.state.records import StepRecord

__all__ = ["inner_records", "read_inside", "record_of"]

_TAIL_BYTES = 8 << 20
"""How much of a log is looked through for its last line."""


def read_inside(log: str | Path, attempt: int = 1) -> tuple[InnerEnd, ...]:
    """Return how the steps inside ended, as the log of an attempt tells; nothing if it does not.

    Parameters
    ----------
    log
        The file.
    attempt
        Its number, where the file has several.
    """
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:  # what nobody can read tells nothing
        return ()
    if attempt > 1:
        text = text.rpartition(f"--- attempt {attempt} ---\n")[2]
    return read_report(text.split("\n"))


def record_of(inner: InnerEnd, outer: StepRecord, ordinal: int) -> StepRecord:
    """Return the record of a step that ran inside of another one: beside it, by its own name."""
    path = StepPath.parse(outer.path).parent / inner.name
    return StepRecord(
        path=str(path),
        name=inner.name,
        status=inner.state,
        finished=inner.finished or outer.finished,
        session=outer.session,
        ordinal=ordinal,
        item=outer.item,
        started=inner.started,
        attempts=inner.attempts,
        message=inner.message,
        exit_code=inner.exit_code,
        log=outer.log if inner.attempts else None,
    )


def inner_records(workflow: Workflow, records: Iterable[StepRecord]) -> tuple[StepRecord, ...]:
    """Return records of the steps inside of others that are not recorded, from logs that are kept.

    Parameters
    ----------
    workflow
        What ran.
    records
        What is recorded of it.
    """
    groups = {path for path, step in steps_by_path(workflow) if step.origin == GROUPED}
    if not groups:
        return ()
    known = {record.path: record for record in records}
    found = [
        record_of(inner, record, record.ordinal)
        for record in known.values()
        if record.log is not None and str(without_places(StepPath.parse(record.path))) in groups
        for inner in read_inside(record.log, record.attempts)
    ]
    return tuple(record for record in found if record.path not in known)
