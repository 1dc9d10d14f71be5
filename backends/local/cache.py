"""Outputs of earlier runs in place of running a step (docs/semantics.md, section 14)."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from couler.budget.judging import Judge
from couler.errors import ArtifactError, LostArtifactError, StoreError
from couler.ir.semantics.values import Outputs, read_outputs, singles, write_outputs
from couler.ir.values import is_file
from couler.ir.walk import StepPath, without_places
from couler.state.admission import count_hit, count_pass, evict_entries, hold_entry, settle_offer
from couler.state.cache import look_up
from couler.state.database import Database
from couler.state.entries import Entry, Offer
from couler.state.holds import release_runs
from couler.state.ledger import Kept
from couler.state.leftovers import sweep_garbage
from couler.state.records import CacheDecision, DecisionKind
from couler.state.remembered import Remembered, recall
from couler.store import ObjectStore, is_reference


def references(outputs: Outputs) -> Iterator[str]:
    """Yield what the store holds; the default of a file that was not written is no reference."""
    return (
        item.text for item in singles(outputs) if is_file(item.type) and is_reference(item.text)
    )


@dataclass(frozen=True, slots=True)
class Found:
    """What the cache has for a step."""

    decision: CacheDecision
    outputs: Outputs | None = None
    source_run: str | None = None
    entry: Entry | Remembered | None = None
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of outputs that were offered to the cache."""

    decision: CacheDecision
    is_recorded: bool = False
    evicted: tuple[tuple[Kept, CacheDecision], ...] = ()
    failure: str | None = None


class StepCache:
    """The cache as one run uses it."""

    def __init__(
        self,
        database: Database,
        store: ObjectStore,
        *,
        run_id: str,
        workflow: str,
        judge: Judge | None = None,
        owns_store: bool = True,
    ) -> None:
        self._database = database
        self._store = store
        self._run_id = run_id
        self._workflow = workflow
        self._judge = Judge() if judge is None else judge
        self._owned = store if owns_store else None
        self._useless: dict[str, int] = {}

    @property
    def has_budget(self) -> bool:
        """Whether there is less room than for everything."""
        return self._judge.budget is not None and self._judge.budget.is_limited

    def find(
        self,
        key: str,
        path: str,
        outputs: Collection[str],
        *,
        optional: Collection[str] = (),
        max_age_s: float | None = None,
    ) -> Found:
        """Look for the outputs of a step, and check that all of their files are whole."""
        found = self.take(key, path, outputs, optional=optional, max_age_s=max_age_s)
        self.count(found)
        return found

    def take(
        self,
        key: str,
        path: str,
        outputs: Collection[str],
        *,
        optional: Collection[str] = (),
        max_age_s: float | None = None,
    ) -> Found:
        """Look for outputs as `find` does, for a step that has not come up: see `count`."""
        now = datetime.now(UTC)
        entry = look_up(self._database, key)
        if entry is None:
            decision = _decision(path, key, "miss", "there is no entry", now)
            return Found(decision, is_absent=True)
        try:
            if not _is_young(entry, now, max_age_s):
                when = "in the future" if entry.created > now else "too old"
                raise _UnusableError(f"the entry is {when}, {_made(entry)}")
            found = self._take(entry, outputs, optional)
        except _UnusableError as error:
            self._useless[key] = entry.admitted
            return Found(_decision(path, key, "miss", str(error), now))
        reason = f"the entry was {_made(entry)}"
        return Found(_decision(path, key, "hit", reason, now), found, entry.run_id, entry)

    def recall(
        self,
        key: str,
        path: str,
        outputs: Collection[str],
        *,
        optional: Collection[str] = (),
        max_age_s: float | None = None,
    ) -> Found | None:
        """Return outputs that had no room, as values and digests without the files, if known."""
        now = datetime.now(UTC)
        entry = recall(self._database, key)
        if entry is None:
            return None
        if not _is_young(entry, now, max_age_s):
            return None
        try:
            found = _chosen(entry, outputs, optional)
        except _UnusableError:
            return None
        reason = f"nothing that runs reads what was {_made(entry)}; there was no room to keep it"
        return Found(_decision(path, key, "passed", reason, now), found, entry.run_id, entry)

    def count(self, found: Found) -> None:
        """Count what was found as used, now that it stands for a step."""
        entry = found.entry
        if self._store.read_only or entry is None:
            return
        if isinstance(entry, Remembered):
            count_pass(self._database, entry)
        else:
            credit_of = partial(self._judge.credit_of, entry=entry)
            count_hit(self._database, entry, found.decision.at, credit_of)

    def offer(self, key: str, path: str, step: str, outputs: Outputs, *, cost_s: float) -> Answer:
        """Let the policy decide about outputs that a step has just made, and do as it says."""
        now = datetime.now(UTC)
        try:
            size_bytes, digests = self._measure(outputs)
        except (ArtifactError, OSError) as error:
            return Answer(_decision(path, key, "rejected", str(error), now))
        offer = Offer(
            key=key,
            workflow=self._workflow,
            step=step,
            size_bytes=size_bytes,
            cost_s=cost_s,
            run_id=self._run_id,
            path=path,
            place=str(without_places(StepPath.parse(path))),
            outputs=write_outputs(outputs),
            digests=tuple(digests),
            made=now,
            useless=self._useless.pop(key, None),
        )
        settled = settle_offer(self._database, offer, self._judge.settle)
        if settled.evicted and self._owned is not None:
            delete_garbage(self._database, self._owned)
        return Answer(settled.decision, True, settled.evicted, settled.failure)

    def release(self) -> tuple[tuple[Kept, CacheDecision], ...]:
        """Leave what succeeded runs hold to the cache, if there is a budget, and keep to it."""
        if not self.has_budget:
            return ()
        return keep_budget(self._database, self._owned, self._judge, run_id=self._run_id)

    def _take(self, entry: Entry, names: Collection[str], optional: Collection[str]) -> Outputs:
        outputs = _chosen(entry, names, optional)
        with _usable():
            texts = tuple(references(read_outputs(entry.outputs)))
            digests = [digest for text in texts for digest in self._store.digests(text)]
        counts = not self._store.read_only
        if counts and not hold_entry(self._database, entry, self._run_id, digests):
            raise _UnusableError("the entry was evicted meanwhile")
        for text in texts:
            with _usable():
                # First made young, then checked: nobody collects it in between.
                self._store.touch(text)
                self._store.verify(text)
        return outputs

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


@contextmanager
def _usable() -> Iterator[None]:
    """Say that an entry is of no use where its files are lost."""
    try:
        yield
    except LostArtifactError as error:
        raise _UnusableError(error.what) from None
    except (ArtifactError, OSError) as error:
        raise _UnusableError(str(error)) from None


def _chosen(
    entry: Entry | Remembered, names: Collection[str], optional: Collection[str]
) -> Outputs:
    """Return the outputs of these names, of which those that are not optional have to be there."""
    try:
        outputs = read_outputs(entry.outputs)
    except ValueError:
        raise _UnusableError("the entry was written by another version") from None
    missing = [name for name in names if name not in outputs]
    if missing:
        raise _UnusableError(f'the entry has no output "{missing[0]}"')
    return {name: outputs[name] for name in (*names, *optional) if name in outputs}


def _decision(
    path: str, key: str, decision: DecisionKind, reason: str, at: datetime
) -> CacheDecision:
    return CacheDecision(path=path, key=key, decision=decision, reason=reason, at=at)


def _is_young(entry: Entry | Remembered, now: datetime, max_age_s: float | None) -> bool:
    """Whether an entry's age is known and within a limit; no clock matters without one."""
    return max_age_s is None or 0 <= (now - entry.created).total_seconds() <= max_age_s


def _made(entry: Entry | Remembered) -> str:
    return f"made by {entry.run_id} on {entry.created:%Y-%m-%d %H:%M} UTC"


def keep_budget(
    database: Database, store: ObjectStore | None, judge: Judge, *, run_id: str | None = None
) -> tuple[tuple[Kept, CacheDecision], ...]:
    """Hand over what succeeded runs hold to the cache, enforce its budget, delete the rest."""
    release_runs(database)
    evicted = evict_entries(database, judge.shrink, run_id=run_id)
    if store is not None:
        delete_garbage(database, store)
    return evicted


def delete_garbage(database: Database, store: ObjectStore) -> None:
    """Delete the files that the cache has given up and nobody needs, as far as that is possible."""
    # What cannot be deleted stays noted, and counts as garbage in `couler cache stats`.
    with suppress(StoreError, OSError):
        sweep_garbage(database, store, host=socket.gethostname())
