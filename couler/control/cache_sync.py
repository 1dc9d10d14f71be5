"""The entries of an engine elsewhere, and their files, held to a size, also beside a run."""

from __future__ import annotations

import time
import typing as t
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from couler.backends.shared_entries import CacheEntry, SharedEntries
from couler.caching.policy import CachePolicy
from couler.control.shared_outlook import NOTHING_KNOWN, SharedOutlook
from couler.control.sync_choice import Measured, Removal, choose, divide, held_bytes
from couler.errors import EngineError, FilesLeftError
from couler.ir.cachekey import repository_mark
from couler.ir.wording import counted
from couler.store.run_files import RunFiles, told_places

GRACE = timedelta(minutes=10)
"""What was used so recently stays: the run that did so may not tell yet."""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What was found, and what was removed of it."""

    entries: int
    size_bytes: int
    removed: tuple[Removal, ...]
    in_use: int
    used_meanwhile: int
    over_bytes: int
    elsewhere: int = 0
    full: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def freed_bytes(self) -> int:
        """What the files take that went, or would go."""
        return sum(one.size_bytes for one in self.removed)


def sync_entries(
    shared: SharedEntries,
    files: RunFiles,
    policy: CachePolicy,
    *,
    budget_bytes: int,
    now: datetime,
    outlook: SharedOutlook = NOTHING_KNOWN,
    grace: timedelta = GRACE,
    dry_run: bool = False,
) -> SyncReport:
    """Remove what is worth least until all files of entries fit a budget."""
    if budget_bytes < 0:
        raise ValueError(f"a budget is at least 0, not {budget_bytes}")
    view = shared.view()
    sizes = files.sizes({location for one in view.entries for location in one.locations})
    measured = [Measured.of(one, [sizes[at] for at in one.locations]) for one in view.entries]
    own = repository_mark(files.url)
    choice = divide(measured, view, own, now=now, grace=grace)
    wanted = choose(choice, policy, budget_bytes, outlook, view.place_bytes)
    went = _Went(wanted) if dry_run else _remove(shared, files, wanted, measured)
    held = held_bytes(measured, {one.entry for one in went.removed if not one.keeps_files})
    waiting = sum(one.entry.is_left for one in choice.read)
    kept_bytes = sum(one.size_bytes for one in choice.whole)
    kept_bytes -= sum(one.size_bytes for one in went.removed)
    report = SyncReport(
        entries=len(measured) - len(choice.elsewhere),
        size_bytes=sum(one.size_bytes for one in measured),
        removed=tuple(went.removed),
        in_use=waiting + len(choice.whole) - sum(bool(one.entry.locations) for one in choice.free),
        used_meanwhile=len(wanted) - len(went.removed),
        over_bytes=max(0, kept_bytes - budget_bytes),
        elsewhere=len(choice.elsewhere),
        full=tuple(
            place
            for place, size in sorted(held.items())
            if view.place_bytes is not None and size > view.place_bytes
        ),
        left=tuple(went.left),
    )
    if went.errors:
        raise FilesLeftError(_told(report, went), report.left, report) from went.errors[0]
    return report


@dataclass(slots=True)
class _Went:
    """What was removed; the files that could not be, and whether a later call finds these."""

    removed: list[Removal] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[FilesLeftError] = field(default_factory=list)
    is_found_again: bool = True


def _remove(
    shared: SharedEntries,
    files: RunFiles,
    wanted: Sequence[Removal],
    measured: Sequence[Measured],
) -> _Went:
    """Remove entries of one place after the other, and the files that nothing else refers to."""
    known = {one.entry: one for one in measured}
    users = Counter(file for one in measured for file in one.places)
    by_place: dict[str, list[Removal]] = {}
    for one in wanted:
        by_place.setdefault(one.entry.place, []).append(one)
    went = _Went()
    for of_place in by_place.values():
        gone = set(shared.remove([one.entry for one in of_place]))
        removed = [one for one in of_place if one.entry in gone]
        _keep_files(shared, [known[one.entry] for one in removed if one.keeps_files], went)
        going = [one for one in removed if not one.keeps_files]
        theirs = [file for one in going for file in known[one.entry].places]
        users.subtract(theirs)
        try:
            files.remove(file for file in dict.fromkeys(theirs) if not users[file])
        except FilesLeftError as error:
            went.errors.append(error)
            went.left += error.places
            removed = [_without(one, known[one.entry], set(error.places)) for one in removed]
            places = set(error.places)
            aside = [one.entry for one in going if not places.isdisjoint(known[one.entry].places)]
            went.is_found_again &= _put_aside(shared, aside) is None
        went.removed += removed
    return went


def _keep_files(shared: SharedEntries, kept: Sequence[Measured], went: _Went) -> None:
    """Put removed entries aside whose files may be read, and note the files if that fails."""
    failure = _put_aside(shared, [one.entry for one in kept])
    if failure is None:
        return
    places = tuple(place for one in kept for place in one.places)
    went.errors.append(FilesLeftError(str(failure), places))
    went.left += places
    went.is_found_again = False


def _without(one: Removal, measured: Measured, left: Collection[str]) -> Removal:
    """Return a removal that frees less, as some files are left."""
    freed = sum(
        size for files in measured.files for place, size in files.items() if place not in left
    )
    return replace(one, size_bytes=min(one.size_bytes, freed))


def _put_aside(shared: SharedEntries, entries: Sequence[CacheEntry]) -> EngineError | None:
    """Keep removed entries so that a later call finds their files; return why it does not."""
    if not entries:
        return None
    try:
        shared.put_aside(entries)
    except EngineError as error:
        return error
    return None


def _told(report: SyncReport, went: _Went) -> str:
    first = went.errors[0].__cause__ or went.errors[0]
    gone = counted(len(report.removed), "entry", "entries")
    again = (
        "The next sync tries them again"
        if went.is_found_again
        else "No entry refers to them any more; remove them yourself when no run does"
    )
    return f"{first}. Of {gone} that went, {told_places(report.left)} could not be removed. {again}"


EVERY_S = 60.0
"""So long the next time comes at the earliest after the last."""

_SHARE = 0.1
"""What part of the time it takes at most: to list the files of a large cache may take minutes."""


class SyncBeside:
    """Keeps a budget in a thread of its own, so that the run is followed meanwhile."""

    def __init__(
        self,
        sync: Callable[[], str | None],
        tell: Callable[[str], None],
        *,
        every_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sync = sync
        self._tell = tell
        self._every_s = every_s
        self._clock = clock
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cache-sync")
        self.under_way: Future[None] | None = None
        self._next_s = clock()
        self._told: str | None = None

    def step_ended(self) -> None:
        """Keep the budget now, unless it is being done or was a moment ago."""
        if self.under_way is not None:
            if not self.under_way.done():
                return
            latest, self.under_way = self.under_way, None
            latest.result()
        if self._clock() >= self._next_s:
            self.under_way = self._threads.submit(self._once)

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _where: object) -> None:
        self._threads.shutdown(wait=True)
        if error is None and self.under_way is not None:
            self.under_way.result()

    def _once(self) -> None:
        began = self._clock()
        told = self._sync()
        ended = self._clock()
        self._next_s = ended + max(self._every_s, (ended - began) / _SHARE)
        if told is not None and told != self._told:
            self._tell(told)
        self._told = told
