"""Outputs of earlier runs in place of running a step (docs/semantics.md, section 14)."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from couler.backends.local.stored import references
from couler.errors import ArtifactError, LostArtifactError
from couler.ir.evaluation.stored import read_outputs, singles, write_outputs
from couler.ir.evaluation.values import Outputs
from couler.state.cache import add_entry, list_entries, look_up, touch_entry
from couler.state.database import Database
from couler.state.policy import AdmitAll, CachePolicy, Candidate, Entry
from couler.state.records import CacheDecision, DecisionKind
from couler.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Found:
    """What the cache has for a step.

    Attributes
    ----------
    decision
        For the journal: a hit, or a miss and why.
    outputs
        The outputs, None for a miss.
    source_run
        The run that made them.
    """

    decision: CacheDecision
    outputs: Outputs | None = None
    source_run: str | None = None


class StepCache:
    """The cache as one run uses it.

    May be used by several threads at once. Reading and hashing files takes its time: an engine
    calls it beside its loop.

    Parameters
    ----------
    database
        Holds the entries.
    store
        Holds their files. If it is read-only, what is found counts as looked at, not as used:
        nothing changes, in the store or in the database.
    run_id, workflow
        The run, and the name of its workflow.
    policy
        Decides what is kept.
    """

    def __init__(
        self,
        database: Database,
        store: ObjectStore,
        *,
        run_id: str,
        workflow: str,
        policy: CachePolicy | None = None,
    ) -> None:
        self._database = database
        self._store = store
        self._run_id = run_id
        self._workflow = workflow
        self._policy: CachePolicy = AdmitAll() if policy is None else policy

    def find(
        self,
        key: str,
        path: str,
        outputs: Collection[str],
        *,
        optional: Collection[str] = (),
        max_age_s: float | None = None,
    ) -> Found:
        """Look for the outputs of a step, and check that all of their files are whole.

        What is found counts as used, and cannot be collected as garbage before the step is
        recorded, if that is done within the grace period.

        Parameters
        ----------
        key
            `StepKeys.of` the instance.
        path
            Text of the instance's path.
        outputs
            Names of the outputs that are needed.
        optional
            Names of those that are taken if they are there.
        max_age_s
            How old they may be, in seconds.
        """
        now = datetime.now(UTC)
        entry = look_up(self._database, key)
        if entry is None:
            return Found(_decision(path, key, "miss", "there is no entry", now))
        try:
            if max_age_s is not None and (now - entry.created).total_seconds() > max_age_s:
                raise _UnusableError(f"the entry is too old, {_made(entry)}")
            found = self._take(entry, outputs, optional)
        except _UnusableError as error:
            return Found(_decision(path, key, "miss", str(error), now))
        if not self._store.read_only:
            touch_entry(self._database, key, now)
        reason = f"the entry was {_made(entry)}"
        return Found(_decision(path, key, "hit", reason, now), found, entry.run_id)

    def offer(
        self, key: str, path: str, step: str, outputs: Outputs, *, cost_s: float
    ) -> list[CacheDecision]:
        """Let the policy decide about outputs that a step has just made, and do as it says.

        Parameters
        ----------
        key, path
            As in `find`.
        step
            Name of the step.
        outputs
            What it made; the files are in the store.
        cost_s
            What it took, in seconds.

        Returns
        -------
        list of CacheDecision
            For the journal: what was done with the outputs, then what was evicted for them.
        """
        now = datetime.now(UTC)
        try:
            size_bytes, digests = self._measure(outputs)
        except (ArtifactError, OSError) as error:
            return [_decision(path, key, "rejected", str(error), now)]
        candidate = Candidate(
            key=key,
            workflow=self._workflow,
            step=step,
            size_bytes=size_bytes,
            cost_s=cost_s,
            run_id=self._run_id,
            path=path,
        )
        told = self._policy.decide(candidate, _Entries(self._database))
        if not told.admit:
            return [_decision(path, key, "rejected", told.reason, now)]
        entry = Entry(
            key=key,
            workflow=self._workflow,
            step=step,
            size_bytes=size_bytes,
            cost_s=cost_s,
            run_id=self._run_id,
            path=path,
            outputs=write_outputs(outputs),
            created=now,
            last_used=now,
        )
        evicted = add_entry(self._database, entry, digests, evict=told.evict)
        return [
            _decision(path, key, "stored", told.reason, now),
            *(
                _decision(path, gone, "evicted", f"for {path}: {told.reason}", now)
                for gone in evicted
            ),
        ]

    def _take(self, entry: Entry, names: Collection[str], optional: Collection[str]) -> Outputs:
        try:
            outputs = read_outputs(entry.outputs)
        except ValueError:
            raise _UnusableError("the entry was written by another version") from None
        missing = [name for name in names if name not in outputs]
        if missing:
            raise _UnusableError(f'the entry has no output "{missing[0]}"')
        for text in references(outputs):
            try:
                # First made young, then checked: nobody collects it in between.
                self._store.touch(text)
                self._store.verify(text)
            except LostArtifactError as error:
                raise _UnusableError(str(error).partition(":")[0]) from None
            except (ArtifactError, OSError) as error:
                raise _UnusableError(str(error)) from None
        return {name: outputs[name] for name in (*names, *optional) if name in outputs}

    def _measure(self, outputs: Outputs) -> tuple[int, list[str]]:
        """Return how many bytes outputs take, and the objects that hold their files."""
        size_bytes = sum(len(item.text.encode()) for item in singles(outputs))
        digests: list[str] = []
        for text in references(outputs):
            size_bytes += self._store.size(text)
            digests += self._store.digests(text)
        return size_bytes, digests


class _UnusableError(Exception):
    """An entry cannot stand for a step, and why."""


class _Entries(Sequence[Entry]):
    """The entries of a database, read when they are first looked at."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _entries(self) -> list[Entry]:
        return list_entries(self._database)

    @t.overload
    def __getitem__(self, index: int) -> Entry: ...
    @t.overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)


def _decision(
    path: str, key: str, decision: DecisionKind, reason: str, at: datetime
) -> CacheDecision:
    return CacheDecision(path=path, key=key, decision=decision, reason=reason, at=at)


def _made(entry: Entry) -> str:
    return f"made by {entry.run_id} on {entry.created:%Y-%m-%d %H:%M} UTC"
