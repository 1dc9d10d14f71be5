"""Run a program that has files of its own at some paths: ``python enter.py SPEC.json -- WORDS``."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # to import typing takes as long as all the rest
    from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 32, 4096, 16384
MS_UNBINDABLE, MS_PRIVATE = 1 << 17, 1 << 18
MNT_DETACH = 2
LOCKED = ((2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21))
"""Flags of a mount as statvfs() tells and mount() takes them, which a remount must keep."""

CANNOT_START = 125

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise the error of a call of the system."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str | None, target: str, flags: int) -> None:
    """Call mount(2)."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target)]
    result = libc.mount(*texts, None, ctypes.c_ulong(flags), None)
    check(result, f"mount {source} on {target}" if source else f"change the mount {target}")


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Show a file or folder, with all that is mounted in it, at another place."""
    mount(source, target, MS_BIND | MS_REC)
    if read_only:
        now = os.statvfs(target).f_flag
        kept = sum(flag for told, flag in LOCKED if now & told)
        mount(None, target, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def enter_namespaces() -> None:
    """Leave the mounts of the machine; without privileges that needs a user namespace."""
    if libc.unshare(CLONE_NEWNS) != 0:
        uid, gid = os.getuid(), os.getgid()
        check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "user and mount namespace")
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{file}", "w") as opened:
                opened.write(text)
    mount(None, "/", MS_REC | MS_PRIVATE)


def build_root(root: str, private: list[str], binds: list[tuple[str, str, bool]]) -> None:
    """Put together what the program sees, below `root`."""
    places: dict[str, Any] = {}
    for path in (*private, *(path for _, path, _ in binds)):
        place = places
        for part in path.strip("/").split("/"):
            place = place.setdefault(part, {})
    mount(root, root, MS_BIND)
    mount(None, root, MS_UNBINDABLE)  # else it would be seen in itself
    hidden = {*private, *(path for _, path, _ in binds)}
    show_folder("/", root, places, hidden)
    # Parents first: one can lie below another.
    for source, path, read_only in sorted(binds, key=lambda one: one[1]):
        target = root + path
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "a").close()
        bind(source, target, read_only=read_only)
    mount(None, root, MS_PRIVATE)


def show_folder(there: str, here: str, places: dict[str, Any], hidden: set[str]) -> None:
    """Show a folder of the machine, entry by entry, but for `places` and what lies in them."""
    for name, below in places.items():
        path = os.path.join(there, name)
        if not below:
            continue
        os.makedirs(os.path.join(here, name), exist_ok=True)
        if path not in hidden:
            copy_mode(path, os.path.join(here, name))
            show_folder(path, os.path.join(here, name), below, hidden)
    try:
        entries = list(os.scandir(there))
    except OSError:  # it is not there, or not to be read
        return
    for entry in entries:
        if entry.name not in places:
            show_entry(entry, os.path.join(here, entry.name))


def copy_mode(path: str, target: str) -> None:
    """Let a folder be as open to others as that of the machine, and open to its owner."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:  # it is not there
        return
    os.chmod(target, mode | stat.S_IRWXU)


def show_entry(entry: os.DirEntry[str], target: str) -> None:
    """Show one entry of a folder of the machine."""
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), target)
        return
    if entry.is_dir():
        os.mkdir(target)
    else:
        open(target, "x").close()
    try:
        bind(entry.path, target)
    except OSError as error:
        # It has gone, or is not to be seen by this user (what a FUSE server shows to its own).
        if error.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM):
            raise


def enter_root(root: str) -> None:
    """Make `root` the root of this process; a mere chroot would forbid it user namespaces."""
    os.chdir(root)
    check(libc.pivot_root(b".", b"."), "change of the root")
    check(libc.umount2(b".", MNT_DETACH), "leaving the mounts of the machine")
    os.chdir("/")


def start(spec: dict[str, Any], words: list[str]) -> NoReturn:
    """Become the program."""
    enter_namespaces()
    build_root(spec["root"], spec["private"], spec["binds"])
    refused = os.open(spec["refused"], os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    enter_root(spec["root"])
    os.chdir(spec["directory"])
    # Python ignores these two, which the program would inherit.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        os.write(refused, str(error.errno).encode())
        sys.exit(CANNOT_START)


def main() -> NoReturn:
    """Read the spec and become the program."""
    with open(sys.argv[1], encoding="utf-8") as opened:
        spec = json.load(opened)
    try:
        start(spec, sys.argv[3:])
    except OSError as error:
        with open(spec["refused"], "w", encoding="utf-8") as opened:
            opened.write(str(error))
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback
    main()
