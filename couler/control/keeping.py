"""The last lines of steps that failed are kept in the run's folder before the engine drops them."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from couler.backends.remote import Remote, RemoteRun
from couler.control import marks
from couler.control.failing import failed_by_themselves
from couler.errors import ConfigurationError, EngineError
from couler.ir.paths import StepPath
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.records import StepRecord

LOG_LINES = 5000
"""How many of the last lines of a failed step are kept."""

MOST_LOGS = 20
"""Of how many steps; those that failed first tell what is wrong."""

PATIENCE_S = 60.0
"""How long all of it may take."""


def keep_logs(
    remote: Remote,
    asked: RemoteRun,
    journal: Journal,
    database: Database,
    home: Home,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Keep the last lines of the steps that failed by themselves, and record where."""
    folder = home.run_folder(asked.run_id) / "logs"
    every = failed_by_themselves(runs.steps_of(database, asked.run_id))
    failed = [step for step in every if step.log is None]
    until = clock() + PATIENCE_S
    asked_for = 0
    for step in failed[: max(0, MOST_LOGS - (len(every) - len(failed)))]:
        if clock() > until:
            break
        try:
            lines = _last_lines(remote.logs(asked, StepPath.parse(step.path)), until, clock)
        except (
            EngineError,
            ConfigurationError,
        ):  # `couler logs` says why; the end of the run is what was asked for
            asked_for += 1
            continue
        if lines is None:
            break
        asked_for += 1
        if lines:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / _name(step)
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            journal.step_ended(replace(step, log=str(file)))
    journal.flush()
    if asked_for < len(failed):
        _tell_left(asked.run_id, len(failed) - asked_for, len(every), journal, database)


def _last_lines(
    lines: Iterable[str], until: float, clock: Callable[[], float]
) -> deque[str] | None:
    """Return the last lines; None if the time was up before the end of them was seen."""
    last: deque[str] = deque(maxlen=LOG_LINES)
    for line in lines:
        last.append(line)
        if clock() > until:
            return None
    return last


def _name(step: StepRecord) -> str:
    """Return a name that no other step of the run has for its log."""
    return f"{step.session}-{hashlib.sha256(step.path.encode()).hexdigest()[:16]}.log"


def _tell_left(run_id: str, left: int, failed: int, journal: Journal, database: Database) -> None:
    told = (
        f"the logs of {left} of {failed} failed steps are not kept here; "
        f"`couler logs {run_id} STEP` asks the engine for them"
    )

    marks.add_message(database, run_id, told, session=journal.session)
