"""Which entries of an engine elsewhere go: what has lost its files, or is worth least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from couler.backends.shared_entries import CacheEntry, CacheView
from couler.caching.asking import ask_admit, ask_worth
from couler.caching.eviction import (
    Candidate,
    Shortage,
    are_densities,
    least_first,
    spare_unneeded,
    take,
    take_least,
)
from couler.caching.policy import CachePolicy, Knowledge
from couler.control.shared_outlook import Found, SharedOutlook, know
from couler.errors import ConfigurationError
from couler.ir.wording import counted

UNTOLD_GRACE = timedelta(days=7)
"""So long an entry stays after its last use whose files are gone, if it does not tell where these
were: it may be of another repository."""

_OWN_SHARE = 0.5
"""So much of what a place may hold entries of this repository may take, whatever others take there.
Two repositories take three halves of it at most, which the engine can store."""

_LEFT = "its files could not be removed before"
_GONE = "its files are gone"
_MAY_BE_READ = "some of its files are gone; the others stay for now, as they may be read"


@dataclass(frozen=True, slots=True)
class Removal:
    """An entry that goes."""

    entry: CacheEntry
    size_bytes: int
    reason: str
    keeps_files: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """An entry and its files."""

    entry: CacheEntry
    files: tuple[Mapping[str, int], ...]
    name: str
    places: tuple[str, ...]
    size_bytes: int

    @classmethod
    def of(cls, entry: CacheEntry, files: Iterable[Mapping[str, int]]) -> Measured:
        """Return an entry whose files were measured."""
        each = tuple(files)
        places = tuple(place for one in each for place in one)
        size_bytes = sum(sum(one.values()) for one in each)
        return cls(entry, each, f"{entry.place}/{entry.key}", places, size_bytes)

    @property
    def is_whole(self) -> bool:
        """Whether all of its files are there; True if it has none."""
        return all(self.files)

    def removal(self, reason: str, *, keeps_files: bool = False) -> Removal:
        """Return that it goes."""
        size_bytes = self.size_bytes if self.is_whole else 0
        return Removal(self.entry, size_bytes, reason, keeps_files)

    def found(self, besides_bytes: int = 0) -> Found:
        """Return it as what is known of it is put together."""
        entry = self.entry
        return Found(
            *(self.name, entry.locations, self.size_bytes + besides_bytes),
            *(entry.seconds, entry.made_at, entry.used_at),
        )


@dataclass(frozen=True)
class Choice:
    """What there is, divided by what may become of it."""

    whole: tuple[Measured, ...]
    values: tuple[Measured, ...]
    broken: tuple[Measured, ...]
    read: tuple[Measured, ...]
    elsewhere: tuple[Measured, ...]
    free: tuple[Measured, ...]


def divide(
    measured: Collection[Measured],
    view: CacheView,
    own: str | None,
    *,
    now: datetime,
    grace: timedelta,
) -> Choice:
    """Divide entries by what may become of them."""
    with_files = [one for one in measured if one.entry.locations]
    here = {one.entry.repository for one in with_files if one.places} - {None} | {own}
    gone = [one for one in with_files if not one.is_whole]
    lost = [one for one in gone if one.places or one.entry.repository in here]
    untold = [one for one in gone if not one.places and one.entry.repository is None]
    if (lost or untold) and not any(one.places for one in with_files):
        places = ", ".join(sorted({one.entry.place for one in gone}))
        raise ConfigurationError(
            f"none of the {counted(len(gone), 'entry', 'entries')} has its files in the "
            "repository: it is that of another target, or somebody has emptied it. Name the right "
            f"one; or remove the config maps: {places}"
        )
    old = [one for one in untold if _last_used(one.entry) < now - UNTOLD_GRACE]
    broken_names = {one.name for one in (*lost, *old)}
    broken = [one for one in gone if one.name in broken_names]
    whole = [one for one in with_files if one.is_whole]
    values = [one for one in measured if not one.entry.locations]
    since = now - grace
    return Choice(
        tuple(whole),
        tuple(values),
        tuple(broken),
        tuple(one for one in broken if one.places and _is_in_use(one.entry, view, since)),
        tuple(one for one in gone if one.name not in broken_names),
        tuple(one for one in (*whole, *values) if not _is_in_use(one.entry, view, since)),
    )


def choose(
    choice: Choice,
    policy: CachePolicy,
    budget_bytes: int,
    outlook: SharedOutlook,
    place_bytes: int | None,
) -> list[Removal]:
    """Return what is to go, in the order in which it does."""
    removals = list(_broken(choice))
    removals += [one.removal(_LEFT) for one in choice.free if one.entry.is_left]
    removals += _least_worth(choice, policy, budget_bytes, outlook)
    if place_bytes is not None:
        gone = {one.entry for one in removals if not one.keeps_files}
        removals += _too_many(choice, gone, policy, budget_bytes, outlook, place_bytes)
    return removals


def held_bytes(measured: Iterable[Measured], gone: Collection[CacheEntry]) -> Counter[str]:
    """Return what each place holds of entries, without those that are gone."""
    held: Counter[str] = Counter()
    for one in measured:
        if one.entry not in gone:
            held[one.entry.place] += one.entry.text_bytes
    return held


def _last_used(entry: CacheEntry) -> datetime:
    return max(entry.used_at, entry.made_at)


def _is_in_use(entry: CacheEntry, view: CacheView, since: datetime) -> bool:
    return _last_used(entry) > since or view.is_read(entry)


def _broken(choice: Choice) -> Iterator[Removal]:
    """Yield what goes as it has lost files; what no step takes anyway waits for its readers."""
    read = {one.name for one in choice.read}
    for one in choice.broken:
        if one.name not in read:
            yield one.removal(_LEFT if one.entry.is_left else _GONE)
        elif not one.entry.is_left:
            yield one.removal(_MAY_BE_READ, keeps_files=True)


def _least_worth(
    choice: Choice, policy: CachePolicy, budget_bytes: int, outlook: SharedOutlook
) -> list[Removal]:
    """Return what goes for the bytes of the files."""
    whole = [one for one in choice.whole if not one.entry.is_left]
    free = [one for one in choice.free if one.entry.locations and not one.entry.is_left]
    known = know([one.found() for one in whole], policy, budget_bytes, outlook)
    refused = {one.name: ask_admit(policy, one.name, known) for one in free}
    ranked = sorted(_candidate(one, policy, known, one.size_bytes) for one in free)
    named = {one.name: one for one in free}
    removals = [
        named[one.key].removal(reason) for one in ranked if (reason := refused[one.key]) is not None
    ]
    over = sum(one.size_bytes for one in whole) - budget_bytes
    over -= sum(one.size_bytes for one in removals)
    left = [one for one in ranked if refused[one.key] is None]
    taken = take(left, over, are_densities=are_densities(policy))
    for one in spare_unneeded(taken, Shortage(over))[0]:
        why = f"is worth least of what is left ({one.worth:.3g})"
        removals.append(named[one.key].removal(why))
    return removals


def _too_many(
    choice: Choice,
    gone: Collection[CacheEntry],
    policy: CachePolicy,
    budget_bytes: int,
    outlook: SharedOutlook,
    place_bytes: int,
) -> Iterator[Removal]:
    """Yield what goes for the bytes of the entries themselves, those without files included."""
    ours = held_bytes((*choice.whole, *choice.values, *choice.read), gone)
    others = held_bytes(choice.elsewhere, gone)
    least = int(place_bytes * _OWN_SHARE)
    room = {place: max(place_bytes - others[place], least) for place in ours}
    full = {place for place, size in ours.items() if size > room[place]}
    if not full:
        return
    entries = [one.found(one.entry.text_bytes) for one in (*choice.whole, *choice.values)]
    known = know(entries, policy, budget_bytes, outlook)
    in_place: dict[str, list[Measured]] = {}
    for one in choice.free:
        if one.entry.place in full and one.entry not in gone:
            in_place.setdefault(one.entry.place, []).append(one)
    for place, free in sorted(in_place.items()):
        named = {one.name: one for one in free}
        over = ours[place] - room[place]
        beside = f" beside {others[place]:,} of others" if others[place] else ""
        ranked = least_first(_candidate(one, policy, known, one.entry.text_bytes) for one in free)
        for goes in spare_unneeded(take_least(ranked, over), Shortage(over))[0]:
            yield named[goes.key].removal(
                f"its config map holds {ours[place]:,} bytes of at most {room[place]:,}{beside}, "
                f"and it is worth least there ({goes.worth:.3g})"
            )


def _candidate(one: Measured, policy: CachePolicy, known: Knowledge, size_bytes: int) -> Candidate:
    worth = ask_worth(policy, one.name, known)
    return Candidate(worth, known.last_used(one.name), one.name, size_bytes)
