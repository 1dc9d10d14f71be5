"""Run one process as a container of a pod would run it: ``python sandbox.py SPEC.json``.

The process sees the files of this machine, which it cannot change, and folders of its own at the
paths that the spec names. It is the first process of a process namespace, so that its signals
reach no other container and its end is the end of all that it has started. User namespaces make
that possible without privileges; where they are forbidden, it needs those of root.

The spec is an object with

- ``root``: an empty folder, on which the root of the container is put together
- ``private``: paths that are folders of the container alone, empty at the start
- ``mounts``: ``[source, path, writable]`` each, where a source is a file or a folder
- ``argv``, ``env``, ``cwd``
- ``error``: a file that gets the reason if the process cannot be started; it appears as soon as
  signals can be sent
- ``pid``: a file that gets the number of the process

This is a program of its own, without imports from the rest, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # to import typing takes as long as all the rest
    from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1
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


def check(result: int, what: str) -> None:
    """Raise the error of a call of libc that has failed."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = libc.mount(*arguments, ctypes.c_ulong(flags), None)
    check(result, f"mount {source} on {target}")


def _bind(source: str, target: str, *, writable: bool) -> None:
    _mount(source, target, None, MS_BIND | MS_REC)
    if writable:
        return
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, 0, 0)
    check(
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
    """Leave the mounts of the machine; become root of a user namespace, if that is allowed.

    The next process that is started is the first of a process namespace.
    """
    own = CLONE_NEWNS | CLONE_NEWPID
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER | own) == 0:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"0 {uid} 1"),
            ("gid_map", f"0 {gid} 1"),
        ):
            with open(f"/proc/self/{file}", "w") as opened:
                opened.write(text)
    else:
        check(libc.unshare(own), "mount and process namespaces")
    _mount(None, "/", None, MS_REC | MS_PRIVATE)


def build_root(root: str, private: list[str], mounts: list[tuple[str, str, bool]]) -> None:
    """Put together the files of the container under `root`."""
    places: dict[str, Any] = {}
    found: list[tuple[str, tuple[str, bool] | None]] = [
        *((os.path.realpath(path), None) for path in private),
        *((os.path.realpath(path), (source, writable)) for source, path, writable in mounts),
    ]
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


def find(program: str, path: str) -> str:
    """Where a program lies that is named as in a command."""
    if "/" in program:
        return program
    for folder in path.split(":"):
        found = os.path.join(folder, program)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    raise FileNotFoundError(errno.ENOENT, "executable file not found in $PATH", program)


def _start(spec: dict[str, Any]) -> NoReturn:
    """Become the process."""
    try:
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getpid() != 1:
            # What runs here may signal "all processes", which must be those of the container.
            raise OSError(errno.EPERM, "not in a process namespace of its own")
        with contextlib.suppress(OSError):  # forbidden where parts of /proc are hidden
            _mount("proc", spec["root"] + "/proc", "proc", 0)
        os.chroot(spec["root"])
        os.makedirs(spec["cwd"], exist_ok=True)
        os.chdir(spec["cwd"])
        program = find(spec["argv"][0], spec["env"].get("PATH", os.defpath))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, KILL):
            signal.signal(number, signal.SIG_DFL)
        os.execve(program, spec["argv"], spec["env"])
    except (OSError, ValueError) as error:
        os.write(spec["error_fd"], str(error).encode())
        os._exit(CANNOT_START)


def main() -> NoReturn:
    with open(sys.argv[1]) as file:
        spec = json.load(file)

    child = 0

    def forward(number: int, _: object) -> None:
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL if number == KILL else number)
        elif number == KILL:
            os._exit(128 + signal.SIGKILL)

    signal.signal(signal.SIGTERM, forward)
    signal.signal(KILL, forward)
    spec["error_fd"] = os.open(spec["error"], os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    enter_namespaces()
    libc.prctl(PR_SET_PDEATHSIG, int(KILL), 0, 0, 0)  # entering a user namespace resets it
    build_root(spec["root"], spec["private"], [tuple(mount) for mount in spec["mounts"]])
    pid = os.fork()
    if pid == 0:
        _start(spec)
    child = pid
    with open(spec["pid"] + ".new", "w") as file:
        file.write(str(pid))
    os.rename(spec["pid"] + ".new", spec["pid"])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    child = 0
    # Not sys.exit: the interpreter takes down the handlers before it ends.
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
