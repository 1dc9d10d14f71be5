"""A cache of limited size that a policy governs: what it keeps, and what it gives up for it."""

from __future__ import annotations

import heapq
import typing as t
from collections.abc import Iterable, Iterator
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


class KeptOutlook(Outlook, t.Protocol):
    """An outlook that depends on what is kept, such as the cost of making something again."""

    def keep(self, key: str) -> Iterable[str]:
        """Take note that an artifact is kept from now on; return what may be worth less by that."""

    def give_up(self, key: str) -> None:
        """Take note that an artifact is kept no longer, by which no other is worth less."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an artifact that was offered to a cache."""

    admitted: bool
    evicted: tuple[str, ...] = ()
    reason: str = ""


@dataclass(slots=True)
class _Entry:
    """What a cache counts of an artifact that it keeps, or is offered."""

    size_bytes: int
    admitted: int
    last_used: int
    uses: int = 1
    credit: float = 0.0
    stored: tuple[float, int, int] | None = None
    """Its place in the heap; None before it has one."""


class BudgetedCache:
    """Keeps what a policy holds to be worth most within a number of bytes; a `Knowledge` itself."""

    def __init__(self, capacity_bytes: int, policy: CachePolicy, outlook: KeptOutlook) -> None:
        if capacity_bytes < 0:
            raise ValueError(f"a cache of {capacity_bytes} bytes")
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self.age = 0.0
        self._policy = policy
        self._outlook = outlook
        self._entries: dict[str, _Entry] = {}
        self._is_lazy = bool(getattr(policy, "worths_only_rise", False))
        self._are_densities = are_densities(policy)
        self._heap: list[tuple[float, int, int, str]] = []
        self._stamp = 0
        self._offers = 0
        self._clock = 0
        self.size_bytes = outlook.size_bytes
        self.cost_s = outlook.cost_s
        self.readers_left = outlook.readers_left
        self.is_read = outlook.is_read
        self.distance = outlook.distance
        self.reconstruction = outlook.reconstruction
        self.reuse = outlook.reuse

    def admitted(self, key: str) -> int:
        return self._entries[key].admitted

    def last_used(self, key: str) -> int:
        return self._entries[key].last_used

    def uses(self, key: str) -> int:
        return self._entries[key].uses

    def credit(self, key: str) -> float:
        return self._entries[key].credit

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def offer(self, key: str) -> Verdict:
        """Decide on an artifact that was just made, or fetched."""
        if key in self._entries:
            return Verdict(admitted=True)
        size = self.size_bytes(key)
        if size > self.capacity_bytes:
            reason = f"takes {size} bytes, and the cache holds {self.capacity_bytes}"
            return Verdict(admitted=False, reason=reason)
        self._offers += 1
        self._clock += 1
        newcomer = self._entries[key] = _Entry(size, self._offers, self._clock)
        refused = ask_admit(self._policy, key, self)
        if refused is not None:
            del self._entries[key]
            return Verdict(admitted=False, reason=refused)
        newcomer.credit = ask_credit(self._policy, key, self)
        return self._make_room(key, newcomer)

    def access(self, key: str) -> bool:
        """Take note that an artifact is read; return whether it is kept."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        self._clock += 1
        entry.last_used = self._clock
        entry.uses += 1
        entry.credit = ask_credit(self._policy, key, self)
        self.refresh((key,))
        return True

    def refresh(self, keys: Iterable[str]) -> None:
        """Take note that artifacts may be worth less than they were; only kept ones matter."""
        for key in keys if self._is_lazy else ():
            entry = self._entries.get(key)
            if entry is not None and entry.stored is not None:
                worth = self._worth(key)
                if (worth, entry.last_used) < entry.stored[:2]:
                    self._store(key, entry, worth)

    def _make_room(self, key: str, newcomer: _Entry) -> Verdict:
        """Let a newcomer join, and evict until all fits; undo all if it is not worth that."""
        # Densities are compared when it is known what goes; until then it is in no heap.
        self._keep(key, newcomer, is_candidate=not self._are_densities)
        shortage = Shortage(self.used_bytes - self.capacity_bytes)
        gone: dict[str, _Entry] = {}
        taken = take_least(self._give_up_least(gone), shortage.bytes)
        if taken and taken[-1].key == key:
            return self._refuse(taken[:-1], gone)
        needed, spared = spare_unneeded(taken, shortage)
        self._put_back(spared, gone)
        if self._are_densities:
            own = Candidate(self._worth(key), newcomer.last_used, key, newcomer.size_bytes)
            if is_outweighed(own, needed, shortage, are_densities=True):
                self._remove(key)
                return self._refuse(needed, gone)
            self._store(key, newcomer, own.worth)
        self.age = max([self.age, *(one.worth for one in needed)])
        return Verdict(admitted=True, evicted=tuple(one.key for one in needed))

    def _refuse(self, taken: Iterable[Candidate], gone: dict[str, _Entry]) -> Verdict:
        self._put_back(taken, gone)
        reason = "is worth less than what would have to go for it"
        return Verdict(admitted=False, reason=reason)

    def _give_up_least(self, gone: dict[str, _Entry]) -> Iterator[Candidate]:
        """Remove what is worth least, one at a time, and put it into a dictionary."""
        while True:
            least = self._least()
            gone[least.key] = self._entries[least.key]
            self._remove(least.key)
            yield least

    def _least(self) -> Candidate:
        """Return what is worth least; what is known of that may be less than it is worth now."""
        if not self._is_lazy:
            self._heap = []
            for key, entry in self._entries.items():
                if entry.stored is not None:
                    self._store(key, entry, self._worth(key))
        while True:
            *stored, key = heapq.heappop(self._heap)
            found = self._entries.get(key)
            if found is not None and found.stored == tuple(stored):  # neither gone nor entered anew
                worth = self._worth(key)
                if found.stored[:2] == (worth, found.last_used):
                    return Candidate(worth, found.last_used, key, found.size_bytes)
                self._store(key, found, worth)

    def _store(self, key: str, entry: _Entry, worth: float) -> None:
        self._stamp += 1
        entry.stored = (worth, entry.last_used, self._stamp)
        heapq.heappush(self._heap, (*entry.stored, key))

    def _put_back(self, taken: Iterable[Candidate], gone: dict[str, _Entry]) -> None:
        for one in taken:
            self._entries[one.key] = gone[one.key]
            self._keep(one.key, gone[one.key])

    def _keep(self, key: str, entry: _Entry, *, is_candidate: bool = True) -> None:
        self.used_bytes += entry.size_bytes
        changed = self._outlook.keep(key)
        if is_candidate:
            self._store(key, entry, self._worth(key))
        self.refresh(changed)

    def _remove(self, key: str) -> None:
        self.used_bytes -= self._entries.pop(key).size_bytes
        self._outlook.give_up(key)

    def _worth(self, key: str) -> float:
        return ask_worth(self._policy, key, self)
