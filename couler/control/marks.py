"""What is noted with where an engine has a run: it was told to end, waits for a retry, is gone.

A run that is taken up again loses its notes.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from couler.state.database import Database
from couler.state.records import Json, RunRecord
from couler.state.runs import change_run

CANCELLED: t.Final = "cancelled"
"""It was told to end from here: a failure after that is no failure."""

WAITING: t.Final = "retry"
"""Who watches it is about to take it up again: when, and the message of its failure."""

LOST: t.Final = "lost"
"""Its engine had it no more when it was asked."""

_MARKS = frozenset({CANCELLED, WAITING, LOST})

_GRACE = timedelta(minutes=2)
"""How long after its time a retry is waited for, which a process that was killed never makes."""


def unmarked(place: Mapping[str, Json]) -> dict[str, Json]:
    """Return where a run is without what is noted there."""
    return {name: value for name, value in place.items() if name not in _MARKS}


def has_mark(run: RunRecord, mark: str) -> bool:
    """Return whether something is noted of a run."""
    return run.place is not None and mark in run.place


def mark(database: Database, run_id: str, name: str) -> bool:
    """Note something of a run that goes on; return whether it does."""

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if run.status != "running" or run.place is None:
            return None
        return {"place": {**run.place, name: True}}

    return change_run(database, run_id, change)


def unmark(database: Database, run_id: str, name: str) -> None:
    """Take a note back."""

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        return {"place": _without(run, name)} if has_mark(run, name) else None

    change_run(database, run_id, change)


def lose(database: Database, run_id: str, message: str, *, session: int) -> None:
    """Record that an engine has a run no more that went on when it was seen last."""

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if run.status != "running" or run.place is None:
            return None
        return {
            "status": "cancelled" if CANCELLED in run.place else "failed",
            "place": {**run.place, LOST: True},
            "message": message,
            "finished": datetime.now(UTC),
        }

    change_run(database, run_id, change, session=session)


def begin_wait(
    database: Database, run_id: str, wait_s: float, reason: str, *, session: int
) -> bool:
    """Note that a run that failed is about to be taken up; return whether it still is failed."""
    until = datetime.now(UTC) + timedelta(seconds=wait_s)

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if run.status != "failed" or run.place is None:
            return None
        told = f"it is taken up again at {until:%H:%M:%S} UTC: {reason}"
        # Another machine may wait as well: the message of the failure is that before both.
        known = run.place.get(WAITING, {"message": run.message})
        waits = {"until": until.isoformat(), "message": known["message"]}
        return {"place": {**run.place, WAITING: waits}, "message": told}

    return change_run(database, run_id, change, session=session)


def end_wait(database: Database, run_id: str) -> None:
    """Take back that a run is about to be taken up."""

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if run.place is None or WAITING not in run.place:
            return None
        values: dict[str, Json] = {"place": _without(run, WAITING)}
        if run.status == "failed":
            values["message"] = run.place[WAITING]["message"]
        return values

    change_run(database, run_id, change)


def is_waiting(run: RunRecord) -> bool:
    """Return whether a run that failed is about to be taken up again."""
    if run.status != "failed" or run.place is None or WAITING not in run.place:
        return False
    return datetime.now(UTC) < datetime.fromisoformat(run.place[WAITING]["until"]) + _GRACE


def call_off(database: Database, run_id: str) -> bool:
    """Record that a run is cancelled which waits to be taken up; return whether it did wait."""

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if not is_waiting(run):
            return None
        return {
            "status": "cancelled",
            "place": _without(run, WAITING),
            "message": "it had failed, and was cancelled before it was taken up again",
        }

    return change_run(database, run_id, change)


def _without(run: RunRecord, name: str) -> dict[str, Json]:
    return {key: value for key, value in (run.place or {}).items() if key != name}
