"""What an engine elsewhere keeps of cached steps, and how it is removed from here.

A backend whose engine keeps such entries has a method `entries` (`KeepsEntries`). What it returns
(`SharedEntries`) speaks the engine's own protocol; which entries go is decided above it, in
`couler.control`.
"""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from couler.backends.remote import Connection, Json


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What an engine elsewhere has kept of a cached step.

    Attributes
    ----------
    place
        What holds the entry, such as the name of a config map.
    key
        Stands for what the step ran on.
    text
        The entry as it was seen; it is another one after each use.
    made_by
        What the engine calls the step that ran.
    made_at, used_at
        When the step ended, and when another last took its outputs.
    seconds
        How long it ran; None where the engine does not know any more.
    locations
        Keys of its files in the repository of the runs.
    repository
        Which repository that is (`repository_mark`); None for an entry that does not tell.
    is_left
        No step can take it any more. It stands for files that were not removed with it.
    """

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
    """The entries of cached steps, and what runs need of them.

    Attributes
    ----------
    entries
        All that there are.
    needed
        Locations of all files that runs read or may read which go on, and those that runs have
        given out as their outputs as long as the engine tells of them; of a file in a folder also
        that of the folder. Other texts may be among them.
    place_bytes
        What one place is to hold at most, in bytes: well below what the engine can store. None if
        it does not matter.
    """

    entries: tuple[CacheEntry, ...]
    needed: frozenset[str] = field(repr=False)
    place_bytes: int | None = None

    def is_read(self, entry: CacheEntry) -> bool:
        """Return whether a run needs a file of an entry; a look-up for each of its files."""
        return any(location.rstrip("/") in self.needed for location in entry.locations)


class SharedEntries(t.Protocol):
    """Where an engine keeps entries of cached steps that later runs take."""

    def view(self) -> CacheView:
        """Return what there is.

        Raises
        ------
        EngineError
            That cannot be told.
        """
        ...

    def remove(self, entries: Collection[CacheEntry]) -> tuple[CacheEntry, ...]:
        """Remove those of the entries that are as they were seen, and return them.

        Raises
        ------
        EngineError
            It is not known whether all could be removed.
        """
        ...

    def put_aside(self, entries: Collection[CacheEntry]) -> None:
        """Keep entries that were removed, though not all of their files were.

        No step takes them (`CacheEntry.is_left`); who looks later finds the files by them.

        Raises
        ------
        EngineError
            It is not known whether all could be kept.
        """
        ...

    def missed(self, place: Mapping[str, Json]) -> frozenset[str]:
        """Return the locations of files that steps of a run asked for and did not find.

        Of these only the files of cached steps, whether it took them from the cache or made them: a
        run that is taken up later may find neither.

        Parameters
        ----------
        place
            Where the run is, as `couler.backends.remote.Remote.submit` returned it.

        Raises
        ------
        EngineError
            That cannot be told.
        """
        ...

    def forget(self, locations: Collection[str]) -> None:
        """Remove all entries that have a file at one of some locations.

        Raises
        ------
        EngineError
            It is not known whether all could be removed.
        """
        ...


@t.runtime_checkable
class KeepsEntries(t.Protocol):
    """A backend whose engine keeps entries of cached steps that can be removed from here."""

    def entries(self, connection: Connection, environment: Mapping[str, str]) -> SharedEntries:
        """Return where they are; nothing is asked yet. The errors are those of `connect`."""
        ...


def repository_mark(url: str | None, chosen: str = "") -> str | None:
    """Return what tells one repository of files from others, in an entry; None if nothing does.

    Parameters
    ----------
    url
        Where it is, as the user's machine reaches it; None if nobody has said so.
    chosen
        What the workflow says of it to the engine; empty for nothing.

    Examples
    --------
    >>> repository_mark("s3://artifacts/") == repository_mark("s3://artifacts")
    True
    >>> repository_mark("s3://artifacts") == repository_mark("s3://artifacts", "of-team-a")
    False
    """
    if url is None and not chosen:
        return None
    place = "" if url is None else url.removeprefix("file://").rstrip("/")
    return hashlib.sha256(f"{place}\n{chosen}".encode()).hexdigest()[:16]
