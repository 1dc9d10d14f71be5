"""Whether processes of this machine run."""

from __future__ import annotations

from pathlib import Path


def is_running(pid: int) -> bool:
    """Return whether a process has not ended, though its parent may not have heard of that."""
    try:
        # Not its command line: that is empty for a moment after the process has begun.
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):  # the latter if it goes as it is read
        return False
    return told.rpartition(")")[2].split()[0] != "Z"
