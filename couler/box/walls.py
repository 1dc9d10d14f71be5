"""The walls around a builder: what its process cannot see and cannot do, whatever it runs."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import stat
import sys
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from couler.box.mounts import (
    DETACH,
    NODEV,
    NOEXEC,
    NOSUID,
    PRIVATE,
    REC,
    WallError as WallError,
    check,
    mount,
    read_only,
    show,
)
from couler.box.seccomp import MACHINES, filter_bytes

PROGRAM_FOLDER = "/program"
STAGING = "/proc"
"""Where a new root is put together: a folder that every Linux has, and that none of the shown files
is in. What is mounted there is seen by the process alone, and is gone with it, however it ends."""

OUTSIDER = 65534
"""The user that a builder seems to run as: nobody."""

HOST_NAME = b"couler"
"""What the machine seems to be called."""

NAMESPACES = {
    "user": 0x10000000,
    "mnt": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 38, 2
_CAPABILITY_VERSION = 0x20080522

_ROOT_SIZE = "size=4m,nr_inodes=4096,mode=755"


class _Program(ctypes.Structure):
    _fields_: t.ClassVar = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def system_calls() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def _prctl(libc: ctypes.CDLL, what: str, option: int, *values: t.Any) -> None:
    numbers = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in values]
    check(libc.prctl(option, *numbers, *[ctypes.c_ulong(0)] * (4 - len(numbers))), what)


def end_with_parent(libc: ctypes.CDLL) -> None:
    """Let the kernel kill this process when the one that started it has ended."""
    _prctl(libc, "signal at the parent's end", _PR_SET_PDEATHSIG, 9)


def gain_nothing(libc: ctypes.CDLL) -> None:
    """Give up gaining privileges by running programs; the filter of calls needs it too."""
    _prctl(libc, "no new privileges", _PR_SET_NO_NEW_PRIVS, 1)


def enter_namespaces(libc: ctypes.CDLL) -> None:
    """Leave the users, mounts, processes, networks and more of the machine."""
    uid, gid = os.getuid(), os.getgid()
    before = _namespace_ids()
    flags = 0
    for flag in NAMESPACES.values():
        flags |= flag
    check(libc.unshare(flags), "user, mount, process, network and IPC namespaces")
    try:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{OUTSIDER} {uid} 1"),
            ("gid_map", f"{OUTSIDER} {gid} 1"),
        ):
            with open(f"/proc/self/{file}", "w", encoding="ascii") as opened:
                opened.write(text)
    except OSError as error:
        raise WallError(f"users of the namespace: {error.strerror}") from error
    after = _namespace_ids()
    same = [name for name, number in before.items() if after[name] == number]
    if same:
        raise WallError(f"the namespaces {', '.join(same)} are still those of the machine")
    for call in (libc.sethostname, libc.setdomainname):  # of the new namespace: it tells no name
        check(call(HOST_NAME, len(HOST_NAME)), "name of the machine")


def _namespace_ids() -> dict[str, str]:
    """Return the namespaces of this process; that of processes is only entered by a child."""
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES if name != "pid"}


def show_only(libc: ctypes.CDLL, shown: Sequence[str], hidden: Sequence[str], program: str) -> None:
    """Make a new root with a few read-only files of the machine and the program."""
    mount(libc, "/", REC | PRIVATE)
    mount(libc, STAGING, NOSUID | NODEV, "couler-box", "tmpfs", _ROOT_SIZE)
    within = [one for one in shown if any(one.startswith(f"{folder}/") for folder in hidden)]
    for path in _outermost(set(shown).difference(within)):
        show(libc, STAGING, path)
    masks = [STAGING + path for path in hidden if os.path.isdir(STAGING + path)]
    for path in masks:
        mount(libc, path, NOSUID | NODEV, "couler-box", "tmpfs", "size=64k,mode=755")
    for path in _outermost(within):
        show(libc, STAGING, path)
    for path in masks:
        read_only(libc, path)
    name, _, text = program.partition("\n")
    os.mkdir(STAGING + PROGRAM_FOLDER)
    place = f"{STAGING}{PROGRAM_FOLDER}/{name}"
    with open(place, "x", encoding="utf-8", newline="") as opened:
        opened.write(text)
    os.chdir(STAGING)
    check(libc.pivot_root(b".", b"."), "change of the root")
    check(libc.umount2(b".", DETACH), "leaving the files of the machine")
    os.chdir("/")
    read_only(libc, "/", NOEXEC)
    os.chdir(PROGRAM_FOLDER)


def _outermost(paths: Iterable[str]) -> list[str]:
    found: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(one + "/") for one in found):
            found.append(path)
    return found


def give_up_powers(libc: ctypes.CDLL) -> None:
    """Drop all capabilities, for good."""
    for number in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break  # the kernel has no more
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    check(libc.capset(header, (ctypes.c_uint32 * 6)()), "giving up capabilities")
    _prctl(libc, "no reading of the process by others", _PR_SET_DUMPABLE, 0)


def limit_resources(limits: Mapping[str, int]) -> None:
    """Set what the kernel bounds, by the names of the resource module without `RLIMIT_`."""
    for name, bound in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        value = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        try:
            resource.setrlimit(number, (value, value))
        except (OSError, ValueError) as error:
            raise WallError(f"limit {name}: {error}") from error


def filter_calls(libc: ctypes.CDLL) -> None:
    """Allow only the calls of the system that building takes."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise WallError(f"no filter of calls is known for machines of {platform.machine()}")
    text = filter_bytes(machine)
    program = _Program(len(text) // 8, text)
    address = ctypes.cast(ctypes.byref(program), ctypes.c_void_p)
    values = (ctypes.c_ulong(_SECCOMP_MODE_FILTER), address, ctypes.c_ulong(0), ctypes.c_ulong(0))
    check(libc.prctl(_PR_SET_SECCOMP, *values), "filter of calls")


def check_files(shown: Iterable[str]) -> None:
    """Look from inside whether the files of the machine are gone."""
    known = {path.split("/")[1] for path in (*shown, PROGRAM_FOLDER)}
    more = [name for name in os.listdir("/") if name not in known]
    if more or os.path.exists("/proc/self") or os.getpid() != 1:
        raise WallError("the process still sees files or processes of the machine")
    if not os.statvfs("/").f_flag & os.ST_RDONLY or os.getuid() != OUTSIDER:
        raise WallError("the process could write files, or runs as a user of the machine")


def check_calls(libc: ctypes.CDLL) -> None:
    """Try from inside whether calls are refused that must be."""
    writing = os.O_WRONLY | os.O_CREAT
    tried: tuple[tuple[str, str, tuple[t.Any, ...]], ...] = (
        ("sockets", "socket", (1, 1, 0)),
        ("signals", "kill", (0, 0)),
        ("mounts", "umount2", (b"/", DETACH)),
        ("programs", "execv", (b"/", None)),
        ("writing", "open", (b"/program/probe", writing, stat.S_IRWXU)),
    )
    for what, name, values in tried:
        ctypes.set_errno(0)
        result = getattr(libc, name)(*values)
        if result != -1 or ctypes.get_errno() != errno.EPERM:  # a file system would say EROFS
            raise WallError(f"the filter of calls does not refuse {what}")


def is_linux() -> bool:
    """Return whether this is a system on which the walls can be built at all."""
    return sys.platform.startswith("linux")
