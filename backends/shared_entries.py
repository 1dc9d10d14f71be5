"""What an engine elsewhere keeps of cached steps, and how it is removed from here."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

if t.TYPE_CHECKING:
    from couler.backends.remote import Connection, Json


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What an engine elsewhere has kept of a cached step."""

    place: str
    key: str
    text: str = field(repr=False)
    made_by: str
    made_at: datetime
    used_at: datetime
    seconds: float | None
    locations: tuple[str, ...]
    repository: str | None = None
    is_left: bool = False

    @property
    def text_bytes(self) -> int:
        """What it takes of its place, which travels and is measured as JSON."""
        return len(self.key) + len(json.dumps(self.text, ensure_ascii=False).encode()) + 4


@dataclass(frozen=True, slots=True)
class CacheView:
    """The entries of cached steps, and what runs need of them."""

    entries: tuple[CacheEntry, ...]
    needed: frozenset[str] = field(repr=False)
    place_bytes: int | None = None

    def is_read(self, entry: CacheEntry) -> bool:
        """Return whether a run needs a file of an entry; a look-up for each of its files."""
        return any(location.rstrip("/") in self.needed for location in entry.locations)


class SharedEntries(t.Protocol):
    """Where an engine keeps entries of cached steps that later runs take."""

    def view(self) -> CacheView:
        """Return what there is."""
        ...

    def remove(self, entries: Collection[CacheEntry]) -> tuple[CacheEntry, ...]:
        """Remove those of the entries that are as they were seen, and return them."""
        ...

    def put_aside(self, entries: Collection[CacheEntry]) -> None:
        """Keep entries that were removed, though not all of their files were."""
        ...

    def missed(self, place: Mapping[str, Json]) -> frozenset[str]:
        """Return the locations of files that steps of a run asked for and did not find."""
        ...

    def forget(self, locations: Collection[str]) -> None:
        """Remove all entries that have a file at one of some locations."""
        ...


@t.runtime_checkable
class KeepsEntries(t.Protocol):
    """A backend whose engine keeps entries of cached steps that can be removed from here."""

    def entries(self, connection: Connection, environment: Mapping[str, str]) -> SharedEntries:
        """Return where they are; nothing is asked yet. The errors are those of `connect`."""
        ...
