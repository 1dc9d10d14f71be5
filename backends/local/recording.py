"""Telling of what happens in a run: to the journal, to those who watch, and in the result."""

from __future__ import annotations

import asyncio
import socket
import typing as t
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from couler.backends.local.ends import Attempt, Bound, End, bad_end
from couler.backends.local.masking import masked
from couler.backends.local.process import Usage
from couler.errors import CoulerError
from couler.ir.grouped import InnerEnd
from couler.ir.semantics.outputs import Instance
from couler.ir.semantics.status import State
from couler.ir.semantics.values import Gathered, Stored, write_outputs
from couler.ir.semantics.wire import typed
from couler.ir.values import is_file
from couler.ir.walk import StepPath
from couler.ir.workflow import Container, Group, Script
from couler.state.results import Event, EventKind, StepResult

if t.TYPE_CHECKING:
    from couler.state.journal import Journal
    from couler.state.ledger import Kept
    from couler.state.records import AttemptRecord, AttemptStatus, CacheDecision, StepRecord

IDLE_FLUSH_S = 0.02
"""How long an end may wait to be written where no start follows it."""


@dataclass(slots=True)
class Recorder:
    """Records starts and ends."""

    journal: Journal
    log_of: Callable[[StepPath], str]
    where: Callable[[str], str]
    on_event: Callable[[Event], None]
    attempts: dict[str, int] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    objects_of: Callable[[Instance, End], Iterable[str]] = lambda _instance, _end: ()
    results: dict[str, StepResult] = field(default_factory=dict)
    warned_of: set[str] = field(default_factory=set)
    host: str = field(default_factory=socket.gethostname)
    """Name of this machine."""
    ordinal: int = 0
    """That of the last end that is recorded."""
    failure: asyncio.Future[t.NoReturn] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    _committed: asyncio.Future[None] | None = None
    _idle: asyncio.TimerHandle | None = None

    def started(self, instance: Instance) -> datetime:
        """Record that an instance starts, and return when."""
        if instance.is_shown:
            log = self._log(instance)
            where = None if log is None else Path(log)
            self._tell("started", instance.path, log=where, attempt=self._coming(instance))
        return now()

    def ended(
        self,
        instance: Instance,
        end: End,
        started: datetime | None,
        *,
        stays_known: bool = False,
    ) -> None:
        """Record how an instance ended."""
        if not instance.is_shown:
            return
        path, finished = str(instance.path), now()
        end = replace(end, message=self.mask(end.message)) if end.message else end
        log = self._log(instance) if end.attempts else None
        self.results[path] = StepResult(
            status=end.state,
            started=started,
            finished=finished,
            outputs={name: self.show(stored) for name, stored in end.outputs.items()},
            attempts=end.attempts,
            message=end.message,
            exit_code=end.exit_code,
            log=None if log is None else Path(log),
        )
        record = None
        if not stays_known:
            record = self._record(instance, end, started, finished, log)
            self.journal.step_ended(record, self.objects_of(instance, end))
            self._write_soon()
        self._tell(
            "finished",
            instance.path,
            status=end.state,
            message=end.message,
            log=None if log is None else Path(log),
            attempt=end.attempts or None,
        )
        if record is not None:
            for inner in end.inside:
                self._ended_inside(inner, record)

    def _ended_inside(self, inner: InnerEnd, outer: StepRecord) -> None:
        """Record how a step ended that another one ran inside."""
        from couler.state.inside import record_of

        record = record_of(inner, outer, self._next_ordinal())
        record = replace(record, message=self.mask(record.message))
        self.results[record.path] = StepResult(
            status=record.status,
            started=record.started,
            finished=record.finished,
            attempts=record.attempts,
            message=record.message,
            exit_code=record.exit_code,
            log=None if record.log is None else Path(record.log),
        )
        self.journal.step_ended(record, ())
        path = StepPath.parse(record.path)
        self._tell("finished", path, status=record.status, message=record.message)

    def reused(self, instance: Instance, end: End, record: StepRecord) -> None:
        """Tell of an instance that an earlier session of the run has ended."""
        self.results[str(instance.path)] = StepResult(
            status=end.state,
            started=record.started,
            finished=record.finished,
            outputs={name: self.show(stored) for name, stored in end.outputs.items()},
            attempts=record.attempts,
            message=end.message,
            exit_code=end.exit_code,
            log=None if record.log is None else Path(record.log),
            reused=True,
        )
        self._tell("reused", instance.path, status=end.state, attempt=end.attempts or None)

    def next_attempt(self, instance: Instance) -> int:
        """Return the number of the attempt that begins, from 1, over all sessions."""
        path = str(instance.path)
        self.attempts[path] = number = self.attempts.get(path, 0) + 1
        return number

    def attempt_started(self, bound: Bound, number: int) -> None:
        """Record that an attempt is about to start."""
        log = self.log_of(bound.path) if isinstance(bound.step.action, Container | Script) else None
        size = None if log is None or number == 1 else _size(log)
        path = str(bound.path)
        self.journal.attempt_started(
            path, number, started=now(), log=log, log_from=size, node=self.host
        )
        if log is None:  # the start of a process waits for a commit; a pause is seen soon as well
            self._write_soon()

    def attempt_spawned(
        self, path: StepPath, number: int, pid: int, *, is_other: bool = False
    ) -> None:
        """Record a process of an attempt: by its number it is found if the engine dies."""
        self.journal.attempt_spawned(str(path), number, pid, at=now(), is_other=is_other)
        self._write_soon()

    def attempt_ended(self, path: StepPath, number: int, attempt: Attempt) -> None:
        """Record how an attempt ended."""
        usage = attempt.usage or Usage(0.0, None)
        self.journal.attempt_ended(
            str(path),
            number,
            status=_attempt_status(attempt),
            finished=now(),
            exit_code=attempt.exit_code,
            message=self.mask(attempt.message),
            cpu_s=None if attempt.usage is None else usage.cpu_s,
            peak_bytes=usage.peak_bytes,
        )
        self._write_soon()

    def retrying(self, instance: Instance, last: Attempt, wait_s: float) -> None:
        """Tell that another attempt follows."""
        told = self.mask(last.message) or "it failed"
        wait = f"; next attempt in {wait_s:g} s" if wait_s else ""
        number = self.attempts.get(str(instance.path))
        self._tell("retrying", instance.path, message=f"{told}{wait}", attempt=number)

    def suspended(self, path: StepPath, message: str | None) -> None:
        """Tell that a step waits for a person, who may resume it at once."""
        self.flush()
        self._tell("suspended", path, message=message, attempt=self.attempts[str(path)])

    def cache_decided(self, decision: CacheDecision) -> None:
        """Record what the cache did."""
        reason = self.mask(decision.reason) or ""
        self.journal.cache_decided(replace(decision, reason=reason))
        self._write_soon()

    def evicted(self, path: StepPath, kept: Kept, reason: str) -> None:
        """Tell of what the cache gave up for a step; it is recorded already."""
        self._tell("evicted", path, message=eviction_text(kept, reason))

    def warned(self, path: StepPath, what: str, message: str) -> None:
        """Tell of something that failed and that the run goes on without; once of each thing."""
        if what not in self.warned_of:
            self.warned_of.add(what)
            self._tell("warned", path, message=message)

    def forget_inside(self, path: StepPath) -> None:
        """Forget the steps of an earlier attempt of a group."""
        start = f"{path}/"
        for text in [text for text in self.results if text.startswith(start)]:
            del self.results[text]
        self.journal.forget_inside(str(path))

    async def commit(self) -> None:
        """Wait until all that is recorded is on disk; those who wait in one turn share a write."""
        if self._committed is None:
            loop = asyncio.get_running_loop()
            self._committed = loop.create_future()
            loop.call_soon(self._commit_now)
        await asyncio.shield(self._committed)

    def flush(self) -> None:
        """Write all that is recorded."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        self.journal.flush()

    def mask(self, message: str | None) -> str | None:
        """Return a message as it can be told."""
        return masked(message, self.secrets)

    def show(self, stored: Stored) -> object:
        """Return a value for people and JSON: files as paths, what is of no type as text."""
        if isinstance(stored, Gathered):
            return [None if item is None else self.show(item) for item in stored.items]
        if is_file(stored.type):
            return self.where(stored.text)
        return typed(stored.text, stored.type)

    def _tell(
        self,
        kind: EventKind,
        path: StepPath,
        *,
        status: State | None = None,
        message: str | None = None,
        log: Path | None = None,
        attempt: int | None = None,
    ) -> None:
        run = self.journal.run_id
        self.on_event(Event(kind, path, run, status, message, log, attempt))

    def _coming(self, instance: Instance) -> int | None:
        """Return the number of the attempt that comes next, None for what is not tried."""
        if isinstance(instance.step.action, Group) or instance.is_whole:
            return None
        return self.attempts.get(str(instance.path), 0) + 1

    def _log(self, instance: Instance) -> str | None:
        """Return where an instance that runs a process has its log."""
        if not isinstance(instance.step.action, Container | Script) or instance.is_whole:
            return None
        return self.log_of(instance.path)

    def _record(
        self,
        instance: Instance,
        end: End,
        started: datetime | None,
        finished: datetime,
        log: str | None,
    ) -> StepRecord:
        from couler.state.records import StepRecord

        return StepRecord(
            path=str(instance.path),
            name=instance.step.name,
            status=end.state,
            key=end.key,
            outputs=write_outputs(end.outputs),
            started=started,
            finished=finished,
            attempts=end.attempts,
            message=end.message,
            exit_code=end.exit_code,
            log=log,
            session=self.journal.session,
            ordinal=self._next_ordinal(),
            item=_items(instance.path),
            source_run=end.source_run,
        )

    def _next_ordinal(self) -> int:
        self.ordinal += 1
        return self.ordinal

    def _commit_now(self) -> None:
        committed, self._committed = self._committed, None
        try:
            self.flush()
        except CoulerError as error:
            if committed is not None:
                committed.set_exception(error)
                committed.exception()  # those who wait may have been ended meanwhile
            return
        if committed is not None:
            committed.set_result(None)

    def _write_soon(self) -> None:
        if self._idle is None:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(IDLE_FLUSH_S, self._write_idle)

    def _write_idle(self) -> None:
        self._idle = None
        try:
            self.flush()
        except CoulerError as error:
            if not self.failure.done():
                self.failure.set_exception(error)


def _attempt_status(attempt: Attempt) -> AttemptStatus:
    bad: AttemptStatus = "error" if attempt.kind == "error" else bad_end(attempt.kind)
    return "succeeded" if attempt.succeeded else bad


def _size(log: str) -> int:
    """Return how long a log is; earlier attempts may not have got as far as to write."""
    try:
        return Path(log).stat().st_size
    except FileNotFoundError:
        return 0


def _items(path: StepPath) -> tuple[int, ...] | None:
    return tuple(part.item for part in path if part.item is not None) or None


def record_lost(journal: Journal, lost: Iterable[AttemptRecord]) -> None:
    """Record the attempts that an engine left when it died."""
    for attempt in lost:
        journal.attempt_ended(
            attempt.path,
            attempt.number,
            status="interrupted",
            finished=now(),
            message="the engine ended before it",
        )


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def eviction_text(kept: Kept, reason: str) -> str:
    """Return what the cache gave up, in words."""
    what = f"{kept.workflow}/{kept.path} of {kept.run_id}"
    return f"{what}, {kept.size_bytes:,} bytes; {reason}"
