"""The calls of the system that a builder may make: a filter of the kernel, built by hand."""

from __future__ import annotations

import errno
import struct
import typing as t

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
"""What seccomp(2) is told to do with a call."""

_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`; an argument has eight bytes, the lower half first."""

X32 = 0x40000000
"""Calls of the x32 ABI: numbers of their own under the architecture of x86_64."""

WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC and O_TMPFILE: alike on both architectures."""

DESCRIPTOR_COMMANDS = (0, 1, 2, 3, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL and F_DUPFD_CLOEXEC of fcntl(2)."""


class Machine(t.NamedTuple):
    """The numbers of one architecture."""

    audit: int
    calls: tuple[int, ...]
    """What is allowed with any arguments."""
    opening: tuple[tuple[int, int], ...]
    """Calls that open a file, each with the place of its flags: allowed for reading."""
    fcntl: int


MACHINES = {
    "x86_64": Machine(
        audit=0xC000003E,
        calls=(
            *(0, 1, 3, 4, 5, 6, 7, 8),  # read write close stat fstat lstat poll lseek
            *(9, 10, 11, 12, 25, 28),  # mmap mprotect munmap brk mremap madvise
            *(13, 14, 15, 131, 219),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart
            *(17, 19, 20),  # pread64 readv writev
            *(21, 89, 267, 269, 439),  # access readlink readlinkat faccessat faccessat2
            *(24, 202, 204, 334),  # sched_yield futex sched_getaffinity rseq
            *(32, 33, 292),  # dup dup2 dup3
            *(35, 96, 201, 228, 229, 230),  # nanosleep gettimeofday time clock_*
            *(39, 102, 104, 107, 108, 110, 186),  # getpid getuid getgid geteuid getegid getppid tid
            *(60, 231),  # exit exit_group
            *(63, 79, 80, 217, 262, 318, 332),  # uname getcwd chdir getdents64 fstatat random statx
        ),
        opening=((2, 1), (257, 2)),  # open openat
        fcntl=72,
    ),
    "aarch64": Machine(
        audit=0xC00000B7,
        calls=(
            *(63, 64, 57, 80, 73, 62),  # read write close fstat ppoll lseek
            *(222, 226, 215, 214, 216, 233),  # mmap mprotect munmap brk mremap madvise
            *(134, 135, 139, 132, 128),  # rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack rest
            *(67, 65, 66),  # pread64 readv writev
            *(78, 48, 439),  # readlinkat faccessat faccessat2
            *(124, 98, 123, 293),  # sched_yield futex sched_getaffinity rseq
            *(23, 24),  # dup dup3
            *(101, 169, 113, 114, 115),  # nanosleep gettimeofday clock_*
            *(172, 174, 176, 175, 177, 173, 178),  # getpid getuid getgid geteuid getegid ppid tid
            *(93, 94),  # exit exit_group
            *(160, 17, 49, 61, 79, 278, 291),  # uname getcwd chdir getdents64 fstatat random statx
        ),
        opening=((56, 2),),  # openat
        fcntl=25,
    ),
}
"""By the name that uname(2) gives the machine."""


def instructions(machine: Machine) -> list[tuple[int, int, int, int]]:
    """Return the filter: instructions of the kernel's packet filter, ``(code, jt, jf, k)`` each."""
    refused = ERRNO | errno.EPERM
    built = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER_EQUAL, 0, 1, X32),
        (_RETURN, 0, 0, refused),
    ]
    for number in machine.calls:
        built += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, ALLOW)]
    for number, place in machine.opening:
        built += [
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _ARGUMENTS + 8 * place),
            (_ANY_BIT, 0, 1, WRITING),
            (_RETURN, 0, 0, refused),
            (_RETURN, 0, 0, ALLOW),
        ]
    built += [
        (_EQUAL, 0, 1 + len(DESCRIPTOR_COMMANDS), machine.fcntl),
        (_LOAD, 0, 0, _ARGUMENTS + 8),
    ]
    count = len(DESCRIPTOR_COMMANDS)
    for index, command in enumerate(DESCRIPTOR_COMMANDS):
        built.append((_EQUAL, count - index, 0, command))
    return [*built, (_RETURN, 0, 0, refused), (_RETURN, 0, 0, ALLOW)]


def filter_bytes(machine: Machine) -> bytes:
    """Return the filter as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *one) for one in instructions(machine))
