"""What policies of caching are asked, and what they are told.

A policy is a frozen dataclass whose fields are its options; what it remembers of an artifact is the
`credit` that the cache keeps for it. So the same policy serves a simulator, which asks in memory,
and a store on disk, which asks once a step of any of many processes has ended.

Worths that only rise
---------------------
The simulator in benchmarks remembers what it was told and asks again for the artifact that is worth
least by that. This finds the least if no worth is below what was told of it. As steps start,
`distance` falls; as others are given up, `cost_s`, `reconstruction` and `reuse` rise; `age` rises.
A policy whose worths do not fall by that says so by an attribute, `worths_only_rise = True`. Of one
that does not, all worths are asked for at each eviction.

What a newcomer is compared with
--------------------------------
A worth may be a time, a count or anything else by which artifacts are ordered; a newcomer is then
refused if anything that would go for it is worth more. A policy whose worths are densities, what is
saved for each byte, says so by `worths_are_densities = True`: then savings are compared, worth
times size, of all that would go (`couler.caching.eviction`).
"""

from __future__ import annotations

import typing as t

from couler.caching.importance import Reading


class Outlook(t.Protocol):
    """What is known of artifacts, by their keys, apart from what a cache counts itself.

    Nothing here is of the future but what the workflow says: which steps have not run yet, what
    they read, and in which order steps start if all take equally long.
    """

    def size_bytes(self, key: str) -> int:
        """Return what an artifact takes."""

    def cost_s(self, key: str) -> float:
        """Return the seconds that it takes to have it again if it is not kept.

        The lesser of reading it again from where it is stored, if it is, and making it again along
        the longest path of its ancestors that are not kept either.
        """

    def readers_left(self, key: str) -> float:
        """Return how many reads are still to come, as far as is known; 0 if there are none.

        A count where a run is under way; where later runs may read, how many are expected.
        """

    def is_read(self, key: str) -> bool:
        """Return whether `readers_left` is above 0; that takes less to tell than how many."""

    def distance(self, key: str) -> float | None:
        """Return how many steps start before its next reader, at least 1; None if it has none."""

    def reconstruction(self, key: str, reading: Reading) -> float:
        """Return the reconstruction cost of Eq. 3, in a reading: `paper` or `repaired`."""

    def reuse(self, key: str, reading: Reading) -> float:
        """Return the reuse value of Eq. 4, in a reading: `paper` or `repaired`."""


class Knowledge(Outlook, t.Protocol):
    """What a policy is told when it is asked: the outlook, and what the cache has counted."""

    @property
    def capacity_bytes(self) -> int:
        """What the cache may hold."""

    @property
    def age(self) -> float:
        """The worth of what was evicted last, the greatest so far; 0 before (the L of GDSF)."""

    def admitted(self, key: str) -> int:
        """Return which admission or offer it was, counted from 1."""

    def last_used(self, key: str) -> int:
        """Return which admission or access used it last; one count for all artifacts."""

    def uses(self, key: str) -> int:
        """Return how often it was used: its admission, and the hits since."""

    def credit(self, key: str) -> float:
        """Return what the policy's `on_access` told at its admission or its last hit."""


@t.runtime_checkable
class CachePolicy(t.Protocol):
    """Decides what a cache of limited size keeps.

    Where something new does not fit, what is of least worth goes first, which can be the new one;
    of equals, what was used longest ago. Pinned artifacts stay whatever they are worth.
    """

    def admit(self, key: str, known: Knowledge) -> str | None:
        """Return why an artifact is not to be kept at all; None if it may be.

        What is larger than the cache is refused without asking.
        """
        return None

    def on_access(self, key: str, known: Knowledge) -> float:
        """Return the credit of an artifact that is offered or was just hit."""
        return 0.0

    def worth(self, key: str, known: Knowledge) -> float:
        """Return what keeping an artifact is worth now; what is worth least is evicted first."""
