"""What is noted with where an engine has a run: it was told to end, waits for a retry, is gone."""

from __future__ import annotations

import os
import socket
import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from couler.state.database import Database
from couler.state.records import Json, RunRecord
from couler.state.runs import change_run

CANCELLED: t.Final = "cancelled"
"""It was told to end from here: a failure after that is no failure."""

WAITING: t.Final = "retry"
"""Who watches it is about to take it up again: who, when, and the message of its failure."""

LOST: t.Final = "lost"
"""Its engine had it no more when it was asked."""

_MARKS = frozenset({CANCELLED, WAITING, LOST})

_LOOK_S = 300.0
"""How long it takes at most to read the logs of what failed, by what is known of servers."""

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


def begin_look(database: Database, run_id: str, *, session: int) -> None:
    """Note that who watches a run that failed looks at why, and may take it up."""
    _wait(
        database, run_id, _LOOK_S, "it may be taken up again: why it failed is looked at", session
    )


def begin_wait(
    database: Database, run_id: str, wait_s: float, reason: str, *, session: int
) -> bool:
    """Note that a run that failed is about to be taken up; return whether it still is failed."""
    until = datetime.now(UTC) + timedelta(seconds=wait_s)
    told = f"it is taken up again at {until:%H:%M:%S} UTC: {reason}"
    return _wait(database, run_id, wait_s, told, session)


def _wait(database: Database, run_id: str, wait_s: float, told: str, session: int) -> bool:
    until = datetime.now(UTC) + timedelta(seconds=wait_s)

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if run.status != "failed" or run.place is None:
            return None
        # Another machine may wait as well: the message of the failure is that before both.
        known = run.place.get(WAITING, {"message": run.message})
        waits = {"until": until.isoformat(), "message": known["message"], "by": _here()}
        return {"place": {**run.place, WAITING: waits}, "message": told}

    return change_run(database, run_id, change, session=session)


def add_message(database: Database, run_id: str, told: str, *, session: int) -> None:
    """Add something to the message of how a run ended."""

    def change(run: RunRecord) -> Mapping[str, Json]:
        waits = (run.place or {}).get(WAITING)
        before = run.message if waits is None else waits["message"]
        message = f"{before}; {told}" if before else told
        if waits is None:
            return {"message": message}
        return {"place": {**(run.place or {}), WAITING: {**waits, "message": message}}}

    change_run(database, run_id, change, session=session)


def end_wait(database: Database, run_id: str) -> None:
    """Take back that this process is about to take a run up."""

    def change(run: RunRecord) -> Mapping[str, Json] | None:
        if run.place is None or run.place.get(WAITING, {}).get("by") != _here():
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


def _here() -> str:
    return f"{os.getpid()} on {socket.gethostname()}"


def _without(run: RunRecord, name: str) -> dict[str, Json]:
    return {key: value for key, value in (run.place or {}).items() if key != name}
