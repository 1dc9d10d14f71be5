"""Processes that an engine, a run or an attempt has left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from couler.errors import StateError
from couler.state.records import AttemptRecord

MARK = "COULER_RUN_ID"
"""The variable of the environment by which the processes of a run are known."""

WORK_MARK = "COULER_WORK"
"""The variable by which the processes of an attempt are known: each has a folder of its own."""

_PROC = Path("/proc")
_GRACE_S = 2.0
_FORCE_S = 5.0
_POLL_S = 0.02
_START_S = 10.0
"""How long after the record of its attempt a process may begin, and how exact clocks are."""


def begun_in(lost: Iterable[AttemptRecord]) -> dict[int, datetime]:
    """Return the recorded processes of attempts and when they began."""
    return {pid: at for attempt in lost for pid, at in attempt.begun().items()}


def end_orphans(run_id: str, recorded: Mapping[int, datetime]) -> int:
    """End all processes of a run that nobody watches any more; return how many there were."""
    return _end_all([f"{MARK}={run_id}"], recorded, _GRACE_S, f"run {run_id}")


def end_run(run_id: str) -> int:
    """End by force what has left the sessions of a run's steps, all of which have ended."""
    return _end_all([f"{MARK}={run_id}"], {}, 0.0, f"run {run_id}")


def end_attempts(works: Collection[Path]) -> int:
    """End by force what has left the sessions of attempts of this engine that have ended."""
    marks = [f"{WORK_MARK}={work}" for work in works]
    whose = ", ".join(map(str, sorted(works)))
    return _end_all(marks, {}, 0.0, whose, since=_own_start())


def _end_all(
    marks: Collection[str],
    recorded: Mapping[int, datetime],
    grace_s: float,
    whose: str,
    since: int = 0,
) -> int:
    led: set[int] = set()
    encoded = {mark.encode() for mark in marks}
    found = set(_find(encoded, recorded, led, since))
    count = len(found)
    for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, _FORCE_S)):
        until = time.monotonic() + seconds
        while found and seconds:
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if time.monotonic() > until:
                break
            time.sleep(_POLL_S)
            found = set(_find(encoded, recorded, led, since))
    if found:
        listed = ", ".join(map(str, sorted(found)))
        raise StateError(
            f"{whose}: processes of what has ended do not end: {listed}. End them, then try again"
        )
    return count


def _find(
    marks: set[bytes], recorded: Mapping[int, datetime], led: set[int], since: int
) -> Iterator[int]:
    """Find the processes, and add to the sessions that are known to be theirs."""
    sessions: dict[int, int] = {}
    begun: dict[int, float] = {}
    marked: set[int] = set()
    for folder in _PROC.iterdir() if _PROC.is_dir() else ():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        pid = int(folder.name)
        try:
            state, session, ticks = _read_stat(folder)
            if ticks < since:
                continue
            environ = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):  # it has ended, or is somebody else's
            continue
        begun[pid] = ticks / os.sysconf("SC_CLK_TCK")
        if state != "Z":
            sessions[pid] = session
            if not marks.isdisjoint(environ):
                marked.add(pid)
    led.update(sessions[pid] for pid in marked)
    led.update(pid for pid, at in recorded.items() if _is_same(pid, at, begun, sessions))
    led.discard(os.getsid(0))
    yield from (pid for pid, session in sessions.items() if pid in marked or session in led)


def _own_start() -> int:
    """Return when this process began, in ticks from boot; 0 where that cannot be told."""
    try:
        return _read_stat(_PROC / "self")[2]
    except OSError:  # there is no /proc
        return 0


def _is_same(
    pid: int, started: datetime, begun: Mapping[int, float], sessions: Mapping[int, int]
) -> bool:
    """Return whether a number is still that of a recorded process or of the session it led."""
    since_boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    known = [pid] if pid in begun else [one for one, session in sessions.items() if session == pid]
    return any(abs(since_boot + begun[one] - started.timestamp()) < _START_S for one in known)


def _read_stat(folder: Path) -> tuple[str, int, int]:
    """Return the state of a process, its session, and the ticks from boot to its start."""
    # The name of the program is in parentheses and may hold anything.
    fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    state, _parent, _group, session, *rest = fields.split()
    return state, int(session), int(rest[15])
