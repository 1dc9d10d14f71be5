"""Run one process as a container of a pod would run it: ``python sandbox.py SPEC.json``.

The process sees the files of this machine, which it cannot change, and folders of its own at the
paths that the spec names. It starts in mount and user namespaces of its own, so this needs no
privileges; where user namespaces are forbidden, it needs those of root.

The spec is an object with

- ``root``: an empty folder, on which the root of the container is put together
- ``private``: paths that are folders of the container alone, empty at the start
- ``mounts``: ``[source, path, writable]`` each, where a source is a file or a folder
- ``argv``, ``env``, ``cwd``
- ``error``: a file that gets the reason if the process cannot be started; it appears as soon as
  signals can be sent

This is a program of its own, without imports from the rest, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import sys
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1

CANNOT_START = 128
KILL = signal.SIGUSR1
"""Kills the process and all that it has started."""

_WRITABLE = ("/proc", "/sys")
_DEVICES = frozenset(
    {"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty"}
    | {"urandom", "zero"}
)

libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = libc.mount(*arguments, ctypes.c_ulong(flags), None)
    _check(result, f"mount {source} on {target}")


def _bind(source: str, target: str, *, writable: bool) -> None:
    _mount(source, target, None, MS_BIND | MS_REC)
    if writable:
        return
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, 0, 0)
    _check(
        libc.syscall(
            SYS_MOUNT_SETATTR,
            AT_FDCWD,
            os.fsencode(target),
            AT_RECURSIVE,
            attributes,
            ctypes.c_size_t(32),
        ),
        f"read-only mount of {target}",
    )


def enter_namespaces() -> None:
    """Leave the mounts of the machine; become root of a user namespace, if that is allowed."""
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"0 {uid} 1"),
            ("gid_map", f"0 {gid} 1"),
        ):
            with open(f"/proc/self/{file}", "w") as opened:
                opened.write(text)
    else:
        _check(libc.unshare(CLONE_NEWNS), "a mount namespace")
    _mount(None, "/", None, MS_REC | MS_PRIVATE)


def build_root(root: str, private: list[str], mounts: list[tuple[str, str, bool]]) -> None:
    """Put together the files of the container under `root`."""
    places: dict[str, Any] = {}
    found = [(os.path.realpath(path), None) for path in private]
    found += [(os.path.realpath(path), (source, writable)) for source, path, writable in mounts]
    for path, _ in found:
        place = places
        for part in path.strip("/").split("/"):
            place = place.setdefault(part, {})
    _mount("tmpfs", root, "tmpfs", 0)
    private_paths = {path for path, what in found if what is None}
    _copy_folder("/", root, places, private_paths)
    # Parents first: a mount can lie below another.
    for path, what in sorted(found, key=lambda one: one[0]):
        target = root + path
        if what is None:
            os.makedirs(target, exist_ok=True)
            continue
        source, writable = what
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "a").close()
        _bind(source, target, writable=writable)


def _copy_folder(there: str, here: str, places: dict[str, Any], private: set[str]) -> None:
    """Show a folder of the machine, entry by entry, but for `places` and what lies in them."""
    devices = there == "/dev"
    for entry in os.scandir(there):
        target = os.path.join(here, entry.name)
        if entry.name in places:
            below = places[entry.name]
            if below and entry.path not in private and entry.is_dir(follow_symlinks=False):
                os.mkdir(target)
                _copy_folder(entry.path, target, below, private)
        elif devices and entry.name not in _DEVICES:
            continue
        elif entry.is_symlink():
            os.symlink(os.readlink(entry.path), target)
        elif entry.is_dir():
            os.mkdir(target)
            _bind(entry.path, target, writable=devices or entry.path in _WRITABLE)
        elif entry.is_file() or devices:
            open(target, "w").close()
            _bind(entry.path, target, writable=devices)


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def kill_all() -> None:
    """Kill every process below this one. Those that lose their parent come to this one."""
    while True:
        try:
            children = _children(os.getpid())
        except FileNotFoundError:
            return
        if not children:
            return
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for _ in children:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def _start(spec: dict[str, Any]) -> NoReturn:
    """Become the process."""
    try:
        os.chroot(spec["root"])
        os.makedirs(spec["cwd"], exist_ok=True)
        os.chdir(spec["cwd"])
        program = spec["argv"][0]
        if "/" not in program:
            found = shutil.which(program, path=spec["env"].get("PATH", os.defpath))
            if found is None:
                raise FileNotFoundError(errno.ENOENT, "executable file not found in $PATH", program)
            program = found
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, KILL):
            signal.signal(number, signal.SIG_DFL)
        if os.path.basename(program) == "argoexec":
            # The first process of a container gets only the signals that it has asked for. The
            # emissary asks for all, so that the processes it starts are as they would be.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execve(program, spec["argv"], spec["env"])
    except (OSError, ValueError) as error:
        os.write(spec["error_fd"], str(error).encode())
        os._exit(CANNOT_START)


def main() -> int:
    with open(sys.argv[1]) as file:
        spec = json.load(file)

    child = 0
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
        else:
            early.append(number)

    def kill(_number: int, _: object) -> None:
        kill_all()
        os._exit(128 + signal.SIGKILL)

    signal.signal(signal.SIGTERM, forward)
    signal.signal(KILL, kill)
    spec["error_fd"] = os.open(spec["error"], os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    enter_namespaces()
    libc.prctl(PR_SET_PDEATHSIG, int(KILL), 0, 0, 0)  # entering a user namespace resets it
    build_root(spec["root"], spec["private"], [tuple(mount) for mount in spec["mounts"]])
    child = os.fork()
    if child == 0:
        _start(spec)
    for number in early:
        forward(number, None)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            break
    child = 0
    kill_all()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
