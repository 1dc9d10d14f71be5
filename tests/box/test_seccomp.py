"""The filter of calls, run by an interpreter of the kernel's instructions, for each machine."""

from __future__ import annotations

import errno
import struct

import pytest

from couler.box.seccomp import ALLOW, ERRNO, KILL, MACHINES, X32, filter_bytes, instructions

REFUSED = ERRNO | errno.EPERM

# Numbers of Linux, written down here once more: include/uapi/asm-generic/unistd.h and
# arch/x86/entry/syscalls/syscall_64.tbl.
NUMBERS = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "open": 2,
        "mmap": 9,
        "ioctl": 16,
        "socket": 41,
        "connect": 42,
        "clone": 56,
        "fork": 57,
        "vfork": 58,
        "execve": 59,
        "kill": 62,
        "fcntl": 72,
        "rename": 82,
        "mkdir": 83,
        "creat": 85,
        "link": 86,
        "unlink": 87,
        "symlink": 88,
        "chmod": 90,
        "ptrace": 101,
        "prctl": 157,
        "mount": 165,
        "tgkill": 234,
        "openat": 257,
        "unshare": 272,
        "setns": 308,
        "process_vm_readv": 310,
        "seccomp": 317,
        "memfd_create": 319,
        "bpf": 321,
        "execveat": 322,
        "io_uring_setup": 425,
        "open_tree": 428,
        "pidfd_open": 434,
        "clone3": 435,
        "openat2": 437,
        "mount_setattr": 442,
        "exit_group": 231,
        "getrandom": 318,
        "futex": 202,
    },
    "aarch64": {
        "read": 63,
        "write": 64,
        "mmap": 222,
        "ioctl": 29,
        "socket": 198,
        "connect": 203,
        "clone": 220,
        "execve": 221,
        "kill": 129,
        "fcntl": 25,
        "mkdirat": 34,
        "unlinkat": 35,
        "symlinkat": 36,
        "linkat": 37,
        "fchmodat": 53,
        "ptrace": 117,
        "prctl": 167,
        "mount": 40,
        "tgkill": 131,
        "openat": 56,
        "unshare": 97,
        "setns": 268,
        "process_vm_readv": 270,
        "seccomp": 277,
        "memfd_create": 279,
        "bpf": 280,
        "execveat": 281,
        "io_uring_setup": 425,
        "pidfd_open": 434,
        "clone3": 435,
        "openat2": 437,
        "exit_group": 94,
        "getrandom": 278,
        "futex": 98,
    },
}
ALLOWED = {"read", "write", "mmap", "exit_group", "getrandom", "futex"}


def judge(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """Run the filter on one call."""
    found = MACHINES[machine]
    values = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, audit or found.audit, 0, *values)
    place, held = 0, 0
    program = instructions(found)
    while True:
        code, true, false, constant = program[place]
        place += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("=I", data, constant)
            case 0x15:
                place += true if held == constant else false
            case 0x35:
                place += true if held >= constant else false
            case 0x45:
                place += true if held & constant else false
            case 0x06:
                return constant
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize("machine", MACHINES)
def test_only_calls_of_the_list_are_allowed(machine: str) -> None:
    for name, number in NUMBERS[machine].items():
        if name not in ("open", "openat", "fcntl"):
            wanted = ALLOW if name in ALLOWED else REFUSED
            assert judge(machine, number) == wanted, name


@pytest.mark.parametrize("machine", MACHINES)
def test_files_are_opened_only_for_reading(machine: str) -> None:
    found = MACHINES[machine]
    for number, place in found.opening:
        for flags in (0, 0o2000000, 0o200000, 0o4000):  # O_CLOEXEC, O_DIRECTORY, O_NONBLOCK
            assert judge(machine, number, *[0] * place, flags) == ALLOW
        for flags in (1, 2, 0o100, 0o1000, 0o20200000 | 2, 0o2000000 | 1):
            assert judge(machine, number, *[0] * place, flags) == REFUSED
            # The upper half of the register is not what the kernel looks at either.
            assert judge(machine, number, *[0] * place, flags | 1 << 40) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_descriptors_can_be_duplicated_and_not_locked_or_signalled(machine: str) -> None:
    number = MACHINES[machine].fcntl
    assert [judge(machine, number, 3, one) for one in (0, 1, 2, 3, 1030)] == [ALLOW] * 5
    assert {judge(machine, number, 3, one) for one in (4, 6, 8, 10, 1024, 1031)} == {REFUSED}


@pytest.mark.parametrize("machine", MACHINES)
def test_other_architectures_and_their_numbers_are_no_way_around(machine: str) -> None:
    assert judge(machine, 1, audit=0x40000003) == KILL
    assert judge(machine, X32 | 1) == REFUSED
    assert judge(machine, 0xFFFFFFFF) == REFUSED
    assert {judge(machine, number) for number in range(443, 1000)} == {REFUSED}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernel_takes_the_filter(machine: str) -> None:
    text = filter_bytes(MACHINES[machine])
    assert len(text) % 8 == 0
    assert len(text) // 8 == len(instructions(MACHINES[machine])) < 4096
    for index, (code, true, false, _) in enumerate(instructions(MACHINES[machine])):
        if code in (0x15, 0x35, 0x45):
            assert index + 1 + max(true, false) < len(text) // 8
