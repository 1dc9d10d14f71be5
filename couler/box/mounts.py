"""Mounts of the boxes: file systems in memory, and files of the machine that can only be read."""

from __future__ import annotations

import ctypes
import os

RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8
REMOUNT, BIND, REC, PRIVATE = 32, 4096, 16384, 1 << 18
DETACH = 2
"""A flag of umount2(): what is still used goes when it no longer is."""

_LOCKED = ((2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21))
"""Flags of a mount as statvfs() tells and mount() takes them, which a remount must keep."""


class WallError(Exception):
    """A wall cannot be built; the text says which, and why."""


def check(result: int, what: str) -> None:
    """Raise `WallError` if a call of the C library has failed."""
    if result != 0:
        raise WallError(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(
    libc: ctypes.CDLL,
    target: str,
    flags: int,
    source: str | None = None,
    kind: str | None = None,
    options: str | None = None,
) -> None:
    """Mount something, or change how it is mounted; see mount(2)."""
    texts = [None if one is None else os.fsencode(one) for one in (source, target, kind, options)]
    result = libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3])
    check(result, f"mount at {target}")


def show(libc: ctypes.CDLL, root: str, path: str) -> None:
    """Show a folder or file of the machine at its place below another root, to be read."""
    target = root + path
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "x").close()
    mount(libc, target, BIND | REC, path)
    read_only(libc, target)


def read_only(libc: ctypes.CDLL, target: str, more: int = 0) -> None:
    """Let nobody write to a mount, or get powers by it; with `more` flags."""
    now = os.statvfs(target).f_flag
    kept = sum(flag for told, flag in _LOCKED if now & told and flag not in (2, 4, more))
    flags = REMOUNT | BIND | RDONLY | NOSUID | NODEV | more
    mount(libc, target, flags | kept)
