"""The note of a DAG run: what Airflow has no field for, in lines that people read too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

_MARK = "Cancelled by couler"
"""What the note of a run has that `Remote.cancel` ended; Airflow itself knows failures only."""
_EARLIER = "Earlier cancelled by couler"
"""What it has instead once the run was taken up again."""
_SUBMITTED = "Submitted by couler as"
"""What it has before the digest of what the run was begun with (`run_digest`)."""
_TAKEN_UP = "Taken up by couler as"

_CUT = re.compile(r"ancelled by couler at (\S+)\.")
_DIGEST = re.compile(rf"^(?:{_SUBMITTED}|{_TAKEN_UP}) ([0-9a-f]+)\.$", re.MULTILINE)
_LONGEST = 1000
"""How many characters Airflow takes."""


def is_marked(note: str) -> bool:
    """Return whether the run was ended by `Remote.cancel`, or is about to be."""
    return _MARK in note


def marked(note: str) -> str:
    r"""Return the note of a run that is cancelled."""
    return _fitted(f"{unmarked(note)}\n{_MARK}.".strip())


def dated(note: str, when: datetime) -> str:
    """Return the note of a run that is cancelled, with the time at which it was."""
    return _fitted(note.replace(f"{_MARK}.", f"{_MARK} at {when.isoformat()}."))


def unmarked(note: str) -> str:
    """Return the note of a run that goes on after it was cancelled."""
    return note.replace(_MARK, _EARLIER)


def cut_at(note: str) -> datetime | None:
    """Return the time that the note of a cancelled run has, if it has one."""
    latest = note.rpartition(_MARK)[2] if is_marked(note) else ""
    return next(_times(f"{_MARK}{latest}"), None)


def all_cuts(note: str) -> list[datetime]:
    """Return the times at which the run was cancelled, also before it was taken up again."""
    return list(_times(note))


def _times(note: str) -> Iterator[datetime]:
    for text in _CUT.findall(note):
        try:
            when = datetime.fromisoformat(text)
        except ValueError:  # someone has written it otherwise
            continue
        if when.tzinfo:
            yield when


# what it comes of ----------------------------------------------------------------------------


def submitted(digest: str) -> str:
    """Return the note of a run that is begun."""
    return f"{_SUBMITTED} {digest}."


def taken_up(note: str, digest: str) -> str:
    r"""Return the note of a run that goes on with another workflow."""
    if digest in digests(note):
        return note
    return _fitted(f"{note}\n{_TAKEN_UP} {digest}.".strip())


def digests(note: str) -> list[str]:
    """Return the digests of what the run was begun with, and taken up with since."""
    return _DIGEST.findall(note)


def _fitted(note: str) -> str:
    """Return a note as long as Airflow takes it: without the oldest of what was added to it."""
    lines = note.splitlines()
    while len("\n".join(lines)) > _LONGEST:
        old = [one for one in lines[:-1] if one.startswith((_EARLIER, _TAKEN_UP))]
        if not old:
            break
        lines.remove(old[0])
    fitted = "\n".join(lines)
    own = "\n".join(one for one in lines if one.startswith((_MARK, _SUBMITTED, _TAKEN_UP)))
    if len(fitted) <= _LONGEST:
        return fitted
    others = "\n".join(one for one in lines if one not in own.splitlines())
    return f"{others[: _LONGEST - len(own) - 5]} ...\n{own}"
