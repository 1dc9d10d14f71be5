"""Files of a run that cannot be written, told so that a user can mend it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from couler.errors import StateError

_REMEDIES = {
    errno.ENOSPC: "Make room, then repeat: what was written is kept",
    errno.EDQUOT: "Make room, then repeat: what was written is kept",
    errno.EROFS: "Set COULER_HOME to a folder that can be written",
    errno.EACCES: "Make its folder writable, or set COULER_HOME to another",
    errno.EPERM: "Make its folder writable, or set COULER_HOME to another",
}


@contextmanager
def explain_writing(place: Path, doing: str) -> Iterator[None]:
    """Raise what the system says inside as a `StateError` that says what, where and how to mend."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Check the disk, then repeat")
        told = error.strerror or str(error)
        raise StateError(f"{place}: cannot {doing}: {told}. {remedy}") from error
