"""A cache of limited size that a policy governs: what it keeps, and what it gives up for it."""

from __future__ import annotations

import heapq
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.caching.asking import ask_admit, ask_credit, ask_worth
from couler.caching.eviction import (
    Candidate,
    Shortage,
    are_densities,
    is_outweighed,
    spare_unneeded,
    take_least,
)
from couler.caching.policy import CachePolicy, Outlook

__all__ = ["BudgetedCache", "KeptOutlook", "Verdict"]


class KeptOutlook(Outlook, t.Protocol):
    """An outlook that depends on what is kept, such as the cost of making something again."""

    def keep(self, key: str) -> Iterable[str]:
        """Take note that an artifact is kept from now on; return of which others that tells."""

    def give_up(self, key: str) -> None:
        """Take note that an artifact is kept no longer, by which nothing of others falls."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an artifact that was offered to a cache."""

    admitted: bool
    evicted: tuple[str, ...] = ()
    reason: str = ""


class BudgetedCache:
    """Keeps the artifacts that a policy holds to be worth most, within a number of bytes."""

    def __init__(self, capacity_bytes: int, policy: CachePolicy, outlook: KeptOutlook) -> None:
        _check_capacity(capacity_bytes)
        self._policy = policy
        self._outlook = outlook
        self._known = _Counts(capacity_bytes, outlook)
        self._entries = self._known.entries
        self._is_lazy = bool(getattr(policy, "worths_only_rise", False))
        self._are_densities = are_densities(policy)
        self._heap: list[tuple[float, int, int, str]] = []
        self._raised: dict[str, float] = {}
        """The worths known before of what was asked for again since the first was given up.

        What is put back may let those fall again. What was asked for before the first went stays
        as it was told: otherwise it would be asked for in each decision.
        """
        self._stamp = 0
        self._used_bytes = 0
        self._pinned_bytes = 0

    @property
    def capacity_bytes(self) -> int:
        """What all that is kept may take together."""
        return self._known.capacity_bytes

    @property
    def used_bytes(self) -> int:
        """What all that is kept takes together."""
        return self._used_bytes

    @property
    def age(self) -> float:
        """The worth of what was evicted last, the greatest so far; 0 before."""
        return self._known.age

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def offer(self, key: str) -> Verdict:
        """Decide on an artifact that was just made, or fetched."""
        if key in self._entries:
            return Verdict(admitted=True)
        size = self._outlook.size_bytes(key)
        if size > self.capacity_bytes:
            return _refused(f"takes {size} bytes, and the cache holds {self.capacity_bytes}")
        newcomer = self._known.open(key, size)
        reason = ask_admit(self._policy, key, self._known)
        if reason is None and size > self.capacity_bytes - self._pinned_bytes:
            room = max(0, self.capacity_bytes - self._pinned_bytes)
            reason = f"takes {size} bytes, and what is pinned leaves {room}"
        if reason is not None:
            del self._entries[key]
            return _refused(reason)
        newcomer.credit = ask_credit(self._policy, key, self._known)
        return self._make_room(key, newcomer)

    def access(self, key: str) -> bool:
        """Take note that an artifact is read; return whether it is kept."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        self._known.use(entry)
        entry.credit = ask_credit(self._policy, key, self._known)
        self.refresh((key,))
        return True

    def refresh(self, keys: Iterable[str]) -> None:
        """Take note that what is known of artifacts has changed; those not kept do not matter."""
        if not self._is_lazy:
            return
        for key in keys:
            entry = self._entries.get(key)
            if entry is None or entry.pins:
                continue
            worth = self._worth(key)
            if (worth, entry.last_used) < entry.stored:
                self._store(key, entry, worth)

    def drop(self, key: str) -> bool:
        """Forget an artifact whose files are gone for another reason; return if it was kept."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self._used_bytes -= entry.size_bytes
        if entry.pins:
            self._pinned_bytes -= entry.size_bytes
        self._outlook.give_up(key)
        return True

    def pin(self, key: str) -> None:
        """Keep an artifact whatever it is worth, until `unpin` was called as often as `pin`."""
        entry = self._entries[key]
        if not entry.pins:
            self._pinned_bytes += entry.size_bytes
            entry.stamp = _IN_NO_HEAP
        entry.pins += 1

    def unpin(self, key: str) -> tuple[str, ...]:
        """Take back a pin; return what was evicted as only pins held more than the capacity."""
        entry = self._entries[key]
        if not entry.pins:
            raise ValueError(f"{key!r} is not pinned")
        entry.pins -= 1
        if entry.pins:
            return ()
        self._pinned_bytes -= entry.size_bytes
        self._enter(key, entry)
        return self._shrink()

    def resize(self, capacity_bytes: int) -> tuple[str, ...]:
        """Change the capacity; return what was evicted, in that order."""
        _check_capacity(capacity_bytes)
        self._known.capacity_bytes = capacity_bytes
        self._renew()
        return self._shrink()

    def _make_room(self, key: str, newcomer: _Entry) -> Verdict:
        """Let a newcomer join, and evict until all fits; undo all if it is not worth that."""
        # Densities are compared when it is known what goes; until then it is in no heap.
        newcomer.pins = int(self._are_densities)
        self._used_bytes += newcomer.size_bytes
        self._enter(key, newcomer)
        self.refresh(self._outlook.keep(key))
        shortage = Shortage(self._used_bytes - self.capacity_bytes)
        gone: dict[str, _Entry] = {}
        taken = take_least(self._give_up_least(gone), shortage.bytes)
        if taken and taken[-1].key == key:
            return self._refuse(taken[:-1], gone)
        needed = self._spare(taken, shortage, gone)
        if self._are_densities:
            newcomer.pins = 0
            self._enter(key, newcomer)
            own = Candidate(self._worth(key), newcomer.last_used, key, newcomer.size_bytes)
            if is_outweighed(own, needed, shortage, are_densities=True):
                self._remove(key)
                return self._refuse(needed, gone)
        return Verdict(admitted=True, evicted=self._age_by(needed))

    def _refuse(self, taken: Iterable[Candidate], gone: Mapping[str, _Entry]) -> Verdict:
        self._put_back(taken, gone)
        return _refused("is worth less than what would have to go for it")

    def _shrink(self) -> tuple[str, ...]:
        shortage = Shortage(self._used_bytes - max(self.capacity_bytes, self._pinned_bytes))
        gone: dict[str, _Entry] = {}
        taken = take_least(self._give_up_least(gone), shortage.bytes)
        return self._age_by(self._spare(taken, shortage, gone))

    def _give_up_least(self, gone: dict[str, _Entry]) -> Iterator[Candidate]:
        """Remove what is worth least, one at a time, and put it into a dictionary."""
        while True:
            key, worth = self._least()
            if not gone:
                self._raised = {}
            entry = gone[key] = self._entries[key]
            self._remove(key)
            yield Candidate(worth, entry.last_used, key, entry.size_bytes)

    def _spare(
        self, taken: Sequence[Candidate], shortage: Shortage, gone: Mapping[str, _Entry]
    ) -> list[Candidate]:
        """Put back what need not go; return what has to."""
        needed, spared = spare_unneeded(taken, shortage)
        if spared:
            self._put_back(spared, gone)
        return needed

    def _age_by(self, needed: Sequence[Candidate]) -> tuple[str, ...]:
        self._known.age = max([self._known.age, *(one.worth for one in needed)])
        return tuple(one.key for one in needed)

    def _put_back(self, taken: Iterable[Candidate], gone: Mapping[str, _Entry]) -> None:
        """Keep again what was given up, without asking what it is worth."""
        for candidate in taken:
            entry = self._entries[candidate.key] = gone[candidate.key]
            self._used_bytes += entry.size_bytes
            self._outlook.keep(candidate.key)
            if self._is_lazy:
                self._store(candidate.key, entry, entry.stored[0])
        for key, bound in self._raised.items():
            if key in self._entries and not self._entries[key].pins:
                self._store(key, self._entries[key], bound)
        self._raised = {}

    def _remove(self, key: str) -> None:
        entry = self._entries.pop(key)
        self._used_bytes -= entry.size_bytes
        self._outlook.give_up(key)

    def _least(self) -> tuple[str, float]:
        """Return the artifact of least worth that is not pinned, and its worth."""
        if not self._is_lazy:
            worth, _, key = min(
                (self._worth(key), entry.last_used, key)
                for key, entry in self._entries.items()
                if not entry.pins
            )
            return key, worth
        while True:
            _, _, stamp, key = self._heap[0]
            entry = self._entries.get(key)
            if entry is None or entry.stamp != stamp:  # gone, pinned, or entered anew
                heapq.heappop(self._heap)
                continue
            worth = self._worth(key)
            if (worth, entry.last_used) == entry.stored:
                return key, worth
            heapq.heappop(self._heap)
            self._raised.setdefault(key, entry.stored[0])
            self._store(key, entry, worth)

    def _worth(self, key: str) -> float:
        return ask_worth(self._policy, key, self._known)

    def _enter(self, key: str, entry: _Entry) -> None:
        if self._is_lazy and not entry.pins:
            self._store(key, entry, self._worth(key))

    def _store(self, key: str, entry: _Entry, worth: float) -> None:
        self._stamp += 1
        entry.stamp = self._stamp
        entry.stored = (worth, entry.last_used)
        heapq.heappush(self._heap, (worth, entry.last_used, self._stamp, key))
        if len(self._heap) > 2 * len(self._entries) + _SLACK:
            self._compact()

    def _compact(self) -> None:
        """Leave out what is valid no longer; at most half is, so this is O(1) an entry."""
        entries = self._entries
        self._heap = [
            one for one in self._heap if one[3] in entries and entries[one[3]].stamp == one[2]
        ]
        heapq.heapify(self._heap)

    def _renew(self) -> None:
        """Ask for all worths, as all may have changed."""
        self._heap = []
        for key, entry in self._entries.items():
            self._enter(key, entry)


_SLACK = 16
"""How many entries beyond twice those in use a heap may have before it is made anew."""

_IN_NO_HEAP = 0


@dataclass(slots=True)
class _Entry:
    """What a cache counts of an artifact that it keeps, or is offered."""

    size_bytes: int
    admitted: int
    last_used: int
    uses: int = 1
    credit: float = 0.0
    pins: int = 0
    stored: tuple[float, int] = (0.0, 0)
    stamp: int = _IN_NO_HEAP


class _Counts:
    """The `Knowledge` of a cache: its own counts, and its outlook."""

    def __init__(self, capacity_bytes: int, outlook: Outlook) -> None:
        self.capacity_bytes = capacity_bytes
        self.age = 0.0
        self.entries: dict[str, _Entry] = {}
        self._offers = 0
        self._clock = 0
        self.size_bytes = outlook.size_bytes
        self.cost_s = outlook.cost_s
        self.readers_left = outlook.readers_left
        self.is_read = outlook.is_read
        self.distance = outlook.distance
        self.reconstruction = outlook.reconstruction
        self.reuse = outlook.reuse

    def open(self, key: str, size_bytes: int) -> _Entry:
        """Begin to count for an artifact that is offered."""
        self._offers += 1
        self._clock += 1
        entry = self.entries[key] = _Entry(size_bytes, self._offers, self._clock)
        return entry

    def use(self, entry: _Entry) -> None:
        """Count a hit."""
        self._clock += 1
        entry.last_used = self._clock
        entry.uses += 1

    def admitted(self, key: str) -> int:
        return self.entries[key].admitted

    def last_used(self, key: str) -> int:
        return self.entries[key].last_used

    def uses(self, key: str) -> int:
        return self.entries[key].uses

    def credit(self, key: str) -> float:
        return self.entries[key].credit


def _check_capacity(capacity_bytes: int) -> None:
    if capacity_bytes < 0:
        raise ValueError(f"a cache of {capacity_bytes} bytes: the capacity must not be negative")


def _refused(reason: str) -> Verdict:
    return Verdict(admitted=False, reason=reason)
