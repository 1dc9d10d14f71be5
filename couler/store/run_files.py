"""The files of runs elsewhere, in the repository that their engine keeps them in."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Mapping

from couler.errors import StoreError
from couler.store.filesystems import open_filesystem, reported


class RunFiles:
    """Files and folders by the keys that an engine gives them.

    Parameters
    ----------
    url
        Where the repository is, as fsspec writes it: `s3://bucket`, or a folder.
    options
        For the filesystem.

    Raises
    ------
    ConfigurationError
        Nothing that is installed knows such an address, or the options are wrong.
    """

    def __init__(self, url: str, **options: object) -> None:
        self._what = f"the repository {url}"
        self._filesystem, self._root = open_filesystem(url, options, what=self._what)

    def sizes(self, location: str) -> Mapping[str, int]:
        """Return the bytes of each object that a file or folder is made of, by its place.

        Raises
        ------
        StoreError
            The repository cannot be asked.
        """
        with reported(self._what):
            self._filesystem.invalidate_cache()
            found = self._filesystem.find(f"{self._root}/{location}", detail=True)
        return {str(place): int(facts["size"]) for place, facts in found.items()}

    def remove(self, places: t.Iterable[str]) -> int:
        """Remove objects by their places and return how many there were.

        Raises
        ------
        StoreError
            Not all could be removed.
        """
        count = 0
        for place in places:
            try:
                with reported(self._what), contextlib.suppress(FileNotFoundError):
                    self._filesystem.rm_file(place)
                    count += 1
            except StoreError as error:
                raise StoreError(
                    f"{error}. Nothing refers to {place} any more; remove it yourself"
                ) from error
        return count
