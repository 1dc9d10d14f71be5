"""The files of runs elsewhere, in the repository that their engine keeps them in."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping

from couler.errors import FilesLeftError, StoreError
from couler.ir.wording import counted
from couler.store.filesystems import open_filesystem, reported

_MOST_TOLD = 10
"""How many files a message names."""


class RunFiles:
    """Files and folders by the keys that an engine gives them."""

    def __init__(self, url: str, **options: object) -> None:
        self._what = f"the repository {url}"
        self._filesystem, self._root = open_filesystem(url, options, what=self._what)
        is_here = "://" not in url or url.startswith("file://")
        self.url = self._root if is_here else url

    def sizes(self, locations: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        """Return the bytes of each object that files and folders are made of."""
        found: dict[str, dict[str, int]] = {one: {} for one in locations}
        wanted: dict[str, list[str]] = {}
        for one in found:
            wanted.setdefault(one.strip("/"), []).append(one)
        self._filesystem.invalidate_cache()
        for folder in _folders(wanted):
            with reported(self._what):
                listed = self._filesystem.find(f"{self._root}/{folder}", detail=True)
            for place, facts in listed.items():
                for above in _above(str(place).removeprefix(f"{self._root}/")):
                    for location in wanted.get(above, ()):
                        found[location][str(place)] = int(facts["size"])
        return found

    def remove(self, places: Iterable[str]) -> int:
        """Remove objects by their places and return how many there were."""
        count = 0
        left: list[str] = []
        first: StoreError | None = None
        for place in places:
            try:
                with reported(self._what), contextlib.suppress(FileNotFoundError):
                    self._filesystem.rm_file(place)
                    count += 1
            except StoreError as error:
                first = first or error
                left.append(place)
        if first is not None:
            raise FilesLeftError(
                f"{first}. {told_places(left)} could not be removed", tuple(left)
            ) from first
        return count


def told_places(places: Collection[str]) -> str:
    """Return how many files there are, and the names of the first."""
    named = ", ".join(list(places)[:_MOST_TOLD])
    more = len(places) - _MOST_TOLD
    return f"{counted(len(places), 'file')} ({named}{f' and {more} more' if more > 0 else ''})"


def _folders(locations: Iterable[str]) -> Iterator[str]:
    """Yield what to list, so that all locations of a run are found in one go."""
    runs: dict[str, list[list[str]]] = {}
    for one in locations:
        parts = one.split("/")
        runs.setdefault(parts[0], []).append(parts)
    for of_run in runs.values():
        first, last = min(of_run), max(of_run)  # what these have in common, all have
        common = 0
        while common < min(len(first), len(last)) and first[common] == last[common]:
            common += 1
        yield "/".join(first[:common])


def _above(place: str) -> Iterator[str]:
    """Yield a place, and all folders that it is in."""
    place = place.strip("/")
    while place:
        yield place
        place = place.rpartition("/")[0]
