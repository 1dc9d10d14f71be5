"""Where the names of Airflow stand, by its version."""

from __future__ import annotations

import typing as t

Version: t.TypeAlias = tuple[int, int]

OLDEST: Version = (3, 0)
NEWEST: Version = (3, 3)

SDK = "airflow.sdk"
_COMPAT = "airflow.providers.common.compat.sdk"
_COMPAT_SINCE: Version = (3, 2)
"""From this version on `airflow.sdk` has all names that files take."""

_OLD_PLACES: dict[str, str] = {
    "CronTriggerTimetable": "airflow.timetables.trigger",
    "MultipleCronTriggerTimetable": "airflow.timetables.trigger",
}
"""Names that the package for all versions has not."""


_MARK = "Compiled by couler for Airflow"


def written(version: Version) -> str:
    """Return a version as people write it."""
    return ".".join(map(str, version))


def mark(version: Version) -> str:
    """Return the words in the docstring of a file that say which version it is for."""
    return f"{_MARK} {written(version)}."


def is_marked(text: str) -> bool:
    """Return whether a file was compiled from here."""
    return _MARK in text


def version_of(text: str) -> Version:
    """Return the version that a file is for; the oldest if it says none."""
    known = ((OLDEST[0], minor) for minor in range(OLDEST[1], NEWEST[1] + 1))
    return next((version for version in known if mark(version) in text), OLDEST)


def place(module: str, name: str, version: Version) -> str:
    """Return the module from which a version of Airflow gives a name."""
    of_sdk = module == SDK or module.startswith(f"{SDK}.")
    if not of_sdk or version >= _COMPAT_SINCE:
        return module
    return _OLD_PLACES.get(name, _COMPAT)
