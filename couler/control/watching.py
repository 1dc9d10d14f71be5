"""Runs elsewhere are watched to their end, and taken up again where that may help."""

from __future__ import annotations

import random as _random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from couler.backends import get_backend
from couler.backends.shared_entries import KeepsEntries, SharedEntries
from couler.control import marks
from couler.control.connecting import recorded_connection
from couler.control.failing import decide_retry, failed_by_themselves, match_of
from couler.control.following import Tell, follow
from couler.control.past import WELL
from couler.control.restarting import NOT_DONE, NOTHING, Changes, prepare, restart
from couler.errors import ConfigurationError, EngineError, RunBusyError
from couler.failures import GiveUp, Wait
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.records import Json, RunRecord, StepRecord
from couler.state.source_maps import source_map_of

_LOOK_S = 3.0
"""How often it is looked whether a run that waits for its retry is cancelled or taken up."""

_POLL_S = 0.5
_TRIES = 20
"""How often a run is tried to be taken up that another process looks at just then."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How a run is watched."""

    max_retries: int = 0
    on_event: Tell | None = None
    on_note: Callable[[str], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = _random.random
    retries: Counter[str] = field(default_factory=Counter)

    def note(self, told: str) -> None:
        """Tell what the watcher does."""
        if self.on_note is not None:
            self.on_note(told)


def watch(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    how: Watch,
    *,
    is_restart: bool = False,
) -> RunRecord:
    """Follow a run to its end, and take it up again where its failures are such that pass."""
    latest = run
    while True:
        try:
            _watch_once(latest, database, home, environment, how, is_restart=is_restart)
        finally:
            marks.end_wait(database, run.id)
        latest = runs.find_run(database, run.id)
        if latest.status != "running":
            return latest
        is_restart = True


def _watch_once(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    how: Watch,
    *,
    is_restart: bool,
) -> None:
    """Follow a run to its end, and take it up again if that may help."""
    ended = follow(
        *(run, database, home, environment),
        on_event=how.on_event,
        is_restart=is_restart,
        may_retry=how.max_retries > 0,
    )
    if not how.max_retries or ended.status != "failed" or marks.has_mark(ended, marks.LOST):
        return
    steps = runs.steps_of(database, run.id)
    names = source_map_of(database, run.id)
    missed = _missed(ended, steps, environment, how.max_retries, how.retries)
    readers = frozenset[str]() if missed is None else missed.readers
    others = [step for step in steps if step.path not in readers]
    if missed is not None and not failed_by_themselves(others):
        told = ", ".join(map(names.label, missed.producers))
        decision: Wait | GiveUp = Wait(0.0, f"files of cached steps are gone; again: {told}")
    else:
        decision = decide_retry(
            *(others, run.engine, how.retries, how.max_retries), source_map=names, random=how.random
        )
    if how.retries or isinstance(decision, Wait):
        how.note(decision.reason)
    if isinstance(decision, GiveUp):
        return
    how.retries.update(step.path for step in failed_by_themselves(steps))
    _try_again(ended, decision, database, home, environment, how, missed)


def _missed(
    run: RunRecord,
    steps: Iterable[StepRecord],
    environment: Mapping[str, str],
    limit: int,
    retries: Mapping[str, int],
) -> MissedFiles | None:
    """Return files that readers missed, as long as these may be tried again."""
    missed = find_missed(run, steps, environment)
    if missed is None or any(retries.get(path, 0) >= limit for path in missed.readers):
        return None
    return missed


def _try_again(
    run: RunRecord,
    wait: Wait,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    how: Watch,
    missed: MissedFiles | None,
) -> None:
    """Take a run up after a wait; where that cannot be, it is as it was, and a note says why."""
    session = runs.standing_of(database, run.id).session
    if marks.begin_wait(database, run.id, wait.wait_s, wait.reason, session=session):
        _wait_for_retry(run.id, wait.wait_s, database, how)
    told = ""
    for _ in range(_TRIES):
        latest = runs.find_run(database, run.id)
        if latest.status != "failed":
            how.note(_changed(latest))
            return
        try:
            changes = NOTHING
            if missed is not None:
                missed.entries.forget(missed.locations)
                why = "its files are gone"
                changes = Changes(again=dict.fromkeys(missed.producers, why))
            restart(latest, prepare(latest, database, changes), database, home, environment)
            return
        except NOT_DONE as error:
            told = str(error)
            break
        except RunBusyError as error:  # somebody looks at it, or has changed it just now
            told = str(error)
            how.sleep(_POLL_S)
    how.note(f"{run.id} was not taken up again: {told}")


def _wait_for_retry(run_id: str, wait_s: float, database: Database, how: Watch) -> None:
    """Wait, but no longer than the run stands as it did: waits for registries take many minutes."""
    left_s = wait_s
    while left_s > 0 and runs.find_run(database, run_id).status == "failed":
        how.sleep(min(left_s, _LOOK_S))
        left_s -= _LOOK_S


def _changed(run: RunRecord) -> str:
    if run.status == "cancelled":
        return f"{run.id} was cancelled before it was taken up again"
    return f"another process has taken {run.id} up meanwhile"


_NO_FILE = "NoSuchKeyErr"
"""What the failure of a reader is recognised as."""


@dataclass(frozen=True, slots=True)
class MissedFiles:
    """Files that steps of a run took for there, and which were not."""

    entries: SharedEntries
    locations: frozenset[str]
    producers: tuple[str, ...]
    readers: frozenset[str]


def find_missed(
    run: RunRecord, steps: Iterable[StepRecord], environment: Mapping[str, str]
) -> MissedFiles | None:
    """Return what steps of a failed run have missed of cached steps; None if that is not known."""
    steps = tuple(steps)
    readers = frozenset(
        step.path
        for step in failed_by_themselves(steps)
        if (match := match_of(step, run.engine)) is not None and match.pattern.name == _NO_FILE
    )
    backend: object = get_backend(run.engine) if readers else None
    if not isinstance(backend, KeepsEntries) or run.place is None:
        return None
    try:
        entries = backend.entries(recorded_connection(run), environment)
        locations = entries.missed(run.place)
    except (ConfigurationError, EngineError):
        return None  # the failure is told as it is
    producers = tuple(
        step.path
        for step in steps
        if step.status in WELL and any(_is_at(one, locations) for one in step.outputs.values())
    )
    return MissedFiles(entries, locations, producers, readers) if producers else None


def _is_at(output: Json, locations: frozenset[str]) -> bool:
    return isinstance(output, Mapping) and output.get("text") in locations
