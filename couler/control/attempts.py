"""Attempts as an engine counts them, recorded under numbers that no restart uses twice."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from couler.backends.remote import ObservedAttempt, StepState
from couler.state.records import AttemptRecord

if t.TYPE_CHECKING:
    from couler.state.journal import Journal

UNTOLD = "the engine tells no more of it"
"""The message of an attempt that was under way when the engine told of it last."""


@dataclass(slots=True)
class Attempts:
    """Records the attempts of a run."""

    journal: Journal
    known: dict[str, dict[int, AttemptRecord]]

    @classmethod
    def of(cls, journal: Journal, recorded: Iterable[AttemptRecord]) -> Attempts:
        """Return what continues the attempts that the database has."""
        known: dict[str, dict[int, AttemptRecord]] = {}
        for record in recorded:
            known.setdefault(record.path, {})[record.number] = record
        return cls(journal, known)

    def last(self, path: str) -> int:
        """Return the number of the last attempt of an instance; 0 if it was never tried."""
        return max(self.known.get(path, ()), default=0)

    def record(
        self,
        path: str,
        observed: Iterable[ObservedAttempt],
        now: datetime,
        *,
        end: StepState | None = None,
    ) -> tuple[int, ...]:
        """Record what is new of the attempts of an instance, and return their new numbers."""
        known = self.known.setdefault(path, {})
        told = sorted(observed, key=lambda attempt: attempt.number)
        shift = _shift(known, told[0]) if told else 0
        begun = []
        for attempt in told:
            number = attempt.number + shift
            before = known.get(number)
            if before is None:
                begun.append(number)
            elif end is not None and attempt.status == "running":
                continue  # the engine forgot to end it: below
            record = self._merged(path, number, attempt, before, now)
            if record != before:
                self._write(record, before)
        if end is not None:
            self.close(path, now, is_good=end == "succeeded")
        return tuple(begun)

    def close(self, path: str, now: datetime, *, is_good: bool = False) -> None:
        """Record the end of attempts whose end the engine did not tell, the last one as good."""
        last = self.last(path)
        for number, record in tuple(self.known.get(path, {}).items()):
            if record.status != "running":
                continue
            if is_good and number == last:
                ended = replace(record, status="succeeded", finished=now)
            else:
                ended = replace(record, status="error", finished=now, message=UNTOLD)
            self._write(ended, record)

    def _merged(
        self,
        path: str,
        number: int,
        attempt: ObservedAttempt,
        before: AttemptRecord | None,
        now: datetime,
    ) -> AttemptRecord:
        session = self.journal.session if before is None else before.session
        started = attempt.started or (now if before is None else before.started)
        finished = attempt.finished
        if finished is None and attempt.status != "running":
            is_same = before is not None and before.status == attempt.status
            finished = before.finished if is_same and before is not None else now
        return AttemptRecord(
            path,
            number,
            session,
            started,
            status=attempt.status,
            finished=finished,
            exit_code=attempt.exit_code,
            message=attempt.message,
            node=attempt.node or (None if before is None else before.node),
        )

    def _write(self, record: AttemptRecord, before: AttemptRecord | None) -> None:
        self.known[record.path][record.number] = record
        if before is None or before.started != record.started or record.status == "running":
            self.journal.attempt_started(
                record.path, record.number, started=record.started, node=record.node
            )
        if record.status != "running":
            self.journal.attempt_ended(
                record.path,
                record.number,
                status=record.status,
                finished=record.finished or record.started,
                exit_code=record.exit_code,
                message=record.message,
                node=record.node,
            )


def engines_number(
    recorded: Iterable[AttemptRecord], told: Iterable[ObservedAttempt], number: int
) -> int | None:
    """Return how an engine counts a recorded attempt of an instance."""
    first = min(told, key=lambda attempt: attempt.number, default=None)
    if first is None:
        return number
    shift = _shift({record.number: record for record in recorded}, first)
    return number - shift if number > shift else None


def _shift(known: Mapping[int, AttemptRecord], first: ObservedAttempt) -> int:
    """Return what is to be added to the engine's numbers to have the recorded ones."""
    shift = 0
    while (record := known.get(first.number + shift)) is not None and _is_later(first, record):
        shift += 1
    return shift


def _is_later(attempt: ObservedAttempt, record: AttemptRecord) -> bool:
    """Return whether an attempt cannot be the recorded one, as it began after that had ended."""
    if record.status == "running" or record.finished is None:
        return False
    if attempt.started is None:
        return attempt.status == "running"
    return attempt.started != record.started and attempt.started >= record.finished
