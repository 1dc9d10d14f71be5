"""Paths of files and folders that travel between steps."""

from __future__ import annotations


class File(str):
    """The path of a file that travels between steps."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """The path as plain text."""
        return str(self)


class Directory(File):
    """The path of a folder that travels between steps."""

    __slots__ = ()
