"""Keeping the entries of an engine elsewhere, and their files, within a number of bytes.

What a policy holds to be worth least goes: first the entry, so that no run takes it any more, then
its files. A run that took it before keeps what it reads.
"""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from couler.backends.shared_entries import CacheEntry, CacheView, SharedEntries
from couler.caching.asking import ask_admit, ask_worth
from couler.caching.eviction import (
    Candidate,
    Shortage,
    least_first,
    spare_unneeded,
    take_least,
)
from couler.caching.policy import CachePolicy, Knowledge
from couler.control.shared_outlook import NOTHING_KNOWN, Found, SharedOutlook, know
from couler.errors import ConfigurationError
from couler.ir.wording import counted

GRACE = timedelta(minutes=10)
"""What was used so recently stays: the run that did so may not tell yet."""


class Files(t.Protocol):
    """The repository of the files, such as `couler.store.run_files.RunFiles`."""

    def sizes(self, location: str) -> Mapping[str, int]:
        """Return the bytes of each object of a file or folder, by its place."""
        ...

    def remove(self, places: Iterable[str]) -> int:
        """Remove objects, and return how many there were."""
        ...


@dataclass(frozen=True, slots=True)
class Removal:
    """An entry that goes.

    Attributes
    ----------
    entry
        The entry.
    size_bytes
        What its files take.
    reason
        Why it goes.
    """

    entry: CacheEntry
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What was found, and what was removed of it.

    Attributes
    ----------
    entries
        How many entries with files there were.
    size_bytes
        What their files took together.
    removed
        What went, or would go, in the order of its worth.
    in_use
        How many entries were not looked at since runs that go on refer to their files, or they were
        used a moment ago.
    used_meanwhile
        How many should have gone, but were used or removed by others meanwhile.
    over_bytes
        What is still over the budget; 0 if it is kept.
    """

    entries: int
    size_bytes: int
    removed: tuple[Removal, ...]
    in_use: int
    used_meanwhile: int
    over_bytes: int

    @property
    def freed_bytes(self) -> int:
        """What the files take that went, or would go."""
        return sum(one.size_bytes for one in self.removed)


def sync_entries(
    shared: SharedEntries,
    files: Files,
    policy: CachePolicy,
    *,
    budget_bytes: int,
    now: datetime,
    outlook: SharedOutlook = NOTHING_KNOWN,
    grace: timedelta = GRACE,
    dry_run: bool = False,
) -> SyncReport:
    """Remove what is worth least until all files of entries fit a budget.

    Parameters
    ----------
    shared
        Where the entries are.
    files
        Where their files are.
    policy
        Says what an entry is worth.
    budget_bytes
        What the files of all entries may take together.
    now
        The time.
    outlook
        What is known of later runs.
    grace
        What was used so recently stays.
    dry_run
        Remove nothing, and tell what would be.

    Raises
    ------
    EngineError
        The engine cannot be asked, or it is not known what became of a change.
    StoreError
        The repository cannot be asked, or a file could not be removed whose entry is gone.
    ConfigurationError
        No entry has its files there, so it is another repository.
    CachePolicyError
        The policy failed; nothing was removed.
    ValueError
        The budget is negative.

    Notes
    -----
    Several may do this at the same time, and runs may go on: an entry is removed only if it is as
    it was seen, and only who removed it removes its files. Who is killed in between leaves files
    that nothing refers to, never an entry without files. An entry that has lost its files by
    others' doing goes in any case.

    O(n log n) for n entries, and a call of the repository for each of their files.
    """
    if budget_bytes < 0:
        raise ValueError(f"a budget is at least 0, not {budget_bytes}")
    view = shared.view()
    measured = [
        _Measured(entry, [files.sizes(one) for one in entry.locations])
        for entry in view.entries
        if entry.locations
    ]
    broken = [one for one in measured if not all(one.files)]
    whole = [one for one in measured if all(one.files)]
    if broken and not whole:
        places = ", ".join(sorted({one.entry.place for one in broken}))
        raise ConfigurationError(
            f"none of the {counted(len(broken), 'entry', 'entries')} has its files in the "
            "repository: it is that of another target, or somebody has emptied it. Name the right "
            f"one; or remove the config maps: {places}"
        )
    free = [one for one in whole if not _is_in_use(one.entry, view, now - grace)]
    wanted = [_removal(one, "its files are gone") for one in broken]
    wanted += _least_worth(whole, free, policy, budget_bytes, outlook)
    removed = wanted if dry_run else _remove(shared, files, wanted, measured)
    left = sum(one.size_bytes for one in whole) - sum(one.size_bytes for one in removed)
    return SyncReport(
        entries=len(measured),
        size_bytes=sum(one.size_bytes for one in measured),
        removed=tuple(removed),
        in_use=len(whole) - len(free),
        used_meanwhile=len(wanted) - len(removed),
        over_bytes=max(0, left - budget_bytes),
    )


class _Measured:
    def __init__(self, entry: CacheEntry, files: Sequence[Mapping[str, int]]) -> None:
        self.entry = entry
        self.files = files
        self.size_bytes = sum(sum(one.values()) for one in files)

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.entry.place}/{self.entry.key}"

    @property
    def found(self) -> Found:
        """The entry, as what is known of it is put together."""
        entry = self.entry
        return Found(
            *(self.name, entry.locations, self.size_bytes),
            *(entry.seconds, entry.made_at, entry.used_at),
        )

    @property
    def places(self) -> list[str]:
        """Where its objects are."""
        return [place for each in self.files for place in each]


def _removal(one: _Measured, reason: str) -> Removal:
    return Removal(one.entry, 0 if not all(one.files) else one.size_bytes, reason)


def _is_in_use(entry: CacheEntry, view: CacheView, since: datetime) -> bool:
    return max(entry.used_at, entry.made_at) > since or view.is_read(entry)


def _least_worth(
    whole: Sequence[_Measured],
    free: Collection[_Measured],
    policy: CachePolicy,
    budget_bytes: int,
    outlook: SharedOutlook,
) -> list[Removal]:
    """Return what is to go, in the order in which it does."""
    known = know([one.found for one in whole], policy, budget_bytes, outlook)
    refused = {one.name: ask_admit(policy, one.name, known) for one in free}
    ranked = list(least_first(_candidate(one, policy, known) for one in free))
    named = {one.name: one for one in free}
    removals = [
        _removal(named[one.key], reason)
        for one in ranked
        if (reason := refused[one.key]) is not None
    ]
    over = sum(one.size_bytes for one in whole) - budget_bytes
    over -= sum(one.size_bytes for one in removals)
    taken = take_least((one for one in ranked if refused[one.key] is None), over)
    for one in spare_unneeded(taken, Shortage(over))[0]:
        why = f"is worth least of what is left ({one.worth:.3g})"
        removals.append(_removal(named[one.key], why))
    return removals


def _candidate(one: _Measured, policy: CachePolicy, known: Knowledge) -> Candidate:
    worth = ask_worth(policy, one.name, known)
    return Candidate(worth, known.last_used(one.name), one.name, one.size_bytes)


def _remove(
    shared: SharedEntries,
    files: Files,
    wanted: Sequence[Removal],
    measured: Sequence[_Measured],
) -> list[Removal]:
    removed: list[Removal] = []
    gone: set[CacheEntry] = set()
    for place in dict.fromkeys(one.entry.place for one in wanted):
        now_gone = set(shared.remove([one.entry for one in wanted if one.entry.place == place]))
        removed += [one for one in wanted if one.entry in now_gone]
        gone |= now_gone
        others = {file for one in measured if one.entry not in gone for file in one.places}
        for one in measured:
            if one.entry in now_gone:
                files.remove(file for file in one.places if file not in others)
    return removed
