"""What an engine elsewhere tells of a run, written into the metadata database as it changes."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from couler.backends.remote import ENDS, Observation, Observed
from couler.control.attempts import Attempts
from couler.ir.semantics.places import around
from couler.ir.semantics.status import FAILED
from couler.ir.walk import StepPath
from couler.state.records import AttemptRecord, RunRecord, StepRecord, StepStatus
from couler.state.results import Event, EventKind

if t.TYPE_CHECKING:
    from couler.state.database import Database
    from couler.state.journal import Journal


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the database has of a run."""

    run: RunRecord
    steps: tuple[StepRecord, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()

    @classmethod
    def read(cls, database: Database, run_id: str) -> Recorded:
        """Read what is recorded of a run."""
        from couler.state import runs

        return cls(
            runs.find_run(database, run_id),
            tuple(runs.steps_of(database, run_id)),
            tuple(runs.attempts_of(database, run_id)),
        )


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _Open:
    """What was told of an instance that has begun and not ended."""

    retried: int
    """Number of the last attempt that nobody is to be told of any more that another follows."""
    is_suspended: bool = False


@dataclass(slots=True)
class Recorder:
    """Records observations of a run, each in turn."""

    journal: Journal
    recorded: Recorded
    is_restart: bool = False
    clock: Callable[[], datetime] = _now
    _run: RunRecord = field(init=False, repr=False)
    _attempts: Attempts = field(init=False, repr=False)
    _ends: dict[StepPath, StepRecord] = field(init=False, repr=False)
    _ordinal: int = field(init=False, repr=False)
    _seen: dict[StepPath, Observed] = field(init=False, repr=False, default_factory=dict)
    _open: dict[StepPath, _Open] = field(init=False, repr=False, default_factory=dict)
    _gone: dict[StepPath, StepRecord] = field(init=False, repr=False, default_factory=dict)
    _told: set[StepPath] = field(init=False, repr=False, default_factory=set)
    _events: list[Event] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        self._run = self.recorded.run
        self._attempts = Attempts.of(self.journal, self.recorded.attempts)
        self._ends = {StepPath.parse(record.path): record for record in self.recorded.steps}
        self._ordinal = max((record.ordinal for record in self.recorded.steps), default=0)

    def record(self, observation: Observation) -> tuple[Event, ...]:
        """Write what has changed, and return what happened, in order."""
        now = self.clock()
        told = {step.path: step for step in observation.steps}
        if told or observation.status != "running":  # else the engine has not got as far as that
            self._forget_others(told, now)
        changed = [step for path, step in told.items() if self._seen.get(path) != step]
        self._seen = told
        for step in changed:
            self._take(step, now)
        self._take_run(observation, now)
        self.journal.flush()
        events, self._events = tuple(self._events), []
        return events

    def break_off(self) -> None:
        """Write that no attempt goes on: the engine tells no more of the run."""
        now = self.clock()
        for path in self._attempts.known:
            self._attempts.close(path, now)
        self.journal.session_ended("failed", finished=now)
        self.journal.flush()

    def _take(self, step: Observed, now: datetime) -> None:
        before = self._ends.get(step.path)
        if step.status in ENDS:
            self._take_end(step, before, now)
        elif before is None or not _is_stale(step, before):
            if before is not None:
                self._forget(step.path)
            if step.status != "waiting":
                self._take_open(step, now)
            elif step.message:
                self._tell("warned", step.path, message=f"it waits: {step.message}")

    def _take_open(self, step: Observed, now: datetime) -> None:
        path = str(step.path)
        tried = self._attempts.last(path)
        self._attempts.record(path, step.attempts, now)
        last = self._attempts.last(path)
        state = self._start(step, tried)
        self._retry(step.path, state, last if step.status == "retrying" else last - 1)
        if step.status == "suspended" and not state.is_suspended:
            self._tell("suspended", step.path, message=step.message, attempt=last or None)
        state.is_suspended = step.status == "suspended"

    def _take_end(self, step: Observed, before: StepRecord | None, now: datetime) -> None:
        path = str(step.path)
        tried = self._attempts.last(path)
        begun = self._attempts.record(path, step.attempts, now, end=step.status)
        known = before or self._gone.get(step.path)
        if known is not None and not begun and _is_same_end(step, known):
            self._keep(step, known)
            return
        if _has_run(step):
            self._retry(step.path, self._start(step, tried), self._attempts.last(path) - 1)
        self._ordinal += 1
        record = StepRecord(
            path=path,
            name=step.path[-1].name,
            status=t.cast("StepStatus", step.status),
            finished=step.finished or now,
            session=self.journal.session,
            ordinal=self._ordinal,
            item=tuple(part.item for part in step.path if part.item is not None) or None,
            outputs=dict(step.outputs),
            started=step.started,
            attempts=self._attempts.last(path) if step.attempts else 0,
            message=step.message,
            exit_code=step.exit_code,
        )
        self._write(step.path, record)
        self._tell_end(step.path, record, "finished")

    def _keep(self, step: Observed, known: StepRecord) -> None:
        """Take up an end that is recorded already; its place in the order stays."""
        record = replace(
            known,
            started=step.started or known.started,
            finished=step.finished or known.finished,
            outputs=dict(step.outputs) or known.outputs,
            message=step.message or known.message,
            exit_code=known.exit_code if step.exit_code is None else step.exit_code,
        )
        if self._ends.get(step.path) != record:
            self._write(step.path, record)
        if step.path not in self._told:
            is_reused = self.is_restart and record.status in ("succeeded", "cached")
            self._tell_end(step.path, record, "reused" if is_reused else "finished")

    def _start(self, step: Observed, tried: int) -> _Open:
        """Return what was told of an instance that has begun; first it is told that it has."""
        state = self._open.get(step.path)
        if state is not None:
            return state
        for outer in around(step.path):
            whole = self._seen.get(outer)
            if whole is not None and outer not in self._ends and _has_run(whole):
                self._begin(outer, 0)
        if not step.attempts:
            return self._begin(step.path, tried)
        last = self._attempts.last(str(step.path))
        first = min(tried + 1, last)  # another process may have told of it
        return self._begin(step.path, first - 1, attempt=first)

    def _begin(self, path: StepPath, retried: int, *, attempt: int | None = None) -> _Open:
        state = self._open.get(path)
        if state is None:
            state = self._open[path] = _Open(retried)
            self._tell("started", path, attempt=attempt)
        return state

    def _retry(self, path: StepPath, state: _Open, last: int) -> None:
        """Tell of attempts, up to a number, that others follow."""
        known = self._attempts.known.get(str(path), {})
        for number in range(state.retried + 1, last + 1):
            state.retried = number
            if number in known:
                message = known[number].message or "it failed"
                self._tell("retrying", path, message=message, attempt=number)

    def _forget_others(self, told: Mapping[StepPath, Observed], now: datetime) -> None:
        """Forget what has neither begun nor ended any more: it is to run again."""
        for path in [path for path in self._ends if path not in told]:
            self._gone[path] = self._ends[path]
            self._forget(path)
        for path in [path for path in self._open if path not in told]:
            del self._open[path]
            self._attempts.close(str(path), now)

    def _forget(self, path: StepPath) -> None:
        del self._ends[path]
        self.journal.forget((str(path),))

    def _write(self, path: StepPath, record: StepRecord) -> None:
        self._ends[path] = record
        self._gone.pop(path, None)
        self.journal.step_ended(record)

    def _take_run(self, observation: Observation, now: datetime) -> None:
        run, is_over = self._run, observation.status != "running"
        if not is_over and run.status != "running":
            self.journal.run_reopened()
            run = replace(run, status="running", message=None, outputs={}, finished=None)
        finished = (observation.finished or run.finished or now) if is_over else None
        latest = replace(
            run,
            status=observation.status,
            # What it waited for holds no more once the engine says nothing of it.
            message=observation.message or ("" if run.message else None),
            outputs=dict(observation.outputs) or run.outputs,
            finished=finished,
        )
        if latest != run:
            self.journal.run_updated(
                status=latest.status,
                message=latest.message,
                outputs=latest.outputs,
                finished=latest.finished,
            )
            if latest.status != "running":
                self.journal.session_ended(latest.status, finished=latest.finished)
        self._run = latest

    def _tell_end(
        self, path: StepPath, record: StepRecord, kind: t.Literal["finished", "reused"]
    ) -> None:
        self._open.pop(path, None)
        self._told.add(path)
        self._tell(
            kind,
            path,
            status=record.status,
            message=record.message,
            attempt=record.attempts or None,
            elapsed_s=_elapsed_s(record),
        )

    def _tell(
        self,
        kind: EventKind,
        path: StepPath,
        *,
        status: StepStatus | None = None,
        message: str | None = None,
        attempt: int | None = None,
        elapsed_s: float | None = None,
    ) -> None:
        run = self.journal.run_id
        self._events.append(Event(kind, path, run, status, message, None, attempt, elapsed_s))


def _elapsed_s(record: StepRecord) -> float | None:
    if record.started is None or record.status in ("skipped", "omitted"):
        return None
    return (record.finished - record.started).total_seconds()


def _is_stale(step: Observed, before: StepRecord) -> bool:
    """Return whether an engine tells of a step as it stood before the end that is recorded."""
    if step.started is None or step.started != before.started or not step.attempts:
        return False
    return max(attempt.number for attempt in step.attempts) <= before.attempts


def _is_same_end(step: Observed, known: StepRecord) -> bool:
    if step.status != known.status:
        return False
    if step.started is not None and known.started is not None:
        return step.started == known.started
    return step.finished is None or step.finished == known.finished


def _has_run(step: Observed) -> bool:
    """Return whether an instance has begun, not only ended."""
    if step.status in ("succeeded", *FAILED):
        return bool(step.started or step.attempts)
    return step.status not in ("waiting", *ENDS)
