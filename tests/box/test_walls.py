"""Each kind of wall by itself: namespaces without the filter of calls, and the filter alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

import couler
from couler.box.build import build_ungated
from couler.box.running import run_boxed
from couler.box.walls import NAMESPACES
from couler.ir.workflow import Workflow
from tests.box.escapes import Outside, outside

_TRIES = """
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def told(what):
    try:
        what()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def call(name, *given):
    def what():
        if getattr(libc, name)(*given) < 0:
            raise OSError(ctypes.get_errno(), name)
    return what

def connect(kind, place):
    def what():
        with socket.socket(kind, socket.SOCK_STREAM) as one:
            one.settimeout(2)
            one.connect(place)
    return what

tries = {
    "read": lambda: open("@canary@").close(),
    "write": lambda: open("/program/new", "w").close(),
    "passwd": lambda: open("/etc/passwd").close(),
    "proc": lambda: os.listdir("/proc"),
    "tcp": connect(socket.AF_INET, ("127.0.0.1", @port@)),
    "file socket": connect(socket.AF_UNIX, "@socket@"),
    "abstract socket": connect(socket.AF_UNIX, "\\0@name@"),
    "signal": lambda: os.kill(@pid@, 0),
    "mount": call("mount", b"x", b"/program", b"tmpfs", 0, None),
    "unmount": call("umount2", b"/", 2),
    "host name": lambda: socket.sethostname("x"),
    "user": lambda: os.setuid(1),
    "fork": lambda: os.fork() or os._exit(0),
}
"""

_NAMESPACES_ALONE = """
import os, sys, tempfile
from couler.box import inside, walls
libc = walls.system_calls()
shown, hidden = inside._needed_files()
walls.gain_nothing(libc)
walls.enter_namespaces(libc)
child = os.fork()
if child:
    os.waitpid(child, 0)
    os._exit(0)
walls.show_only(libc, shown, hidden, "x.py\\n")
walls.give_up_powers(libc)
walls.limit_resources({"FSIZE": 0})
walls.check_files(shown)
"""

_FILTER_ALONE = """
from couler.box import walls
libc = walls.system_calls()
walls.gain_nothing(libc)
walls.filter_calls(libc)
walls.check_calls(libc)
"""

_REPORT = """
sys.stdout.write(json.dumps({name: told(what) for name, what in tries.items()}))
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture
def around(box: None) -> Iterator[Outside]:
    with outside() as found:
        yield found
        found.assert_untouched()


def tried(walls: str, around: Outside) -> dict[str, str]:
    code = around.fill(_TRIES + walls + _REPORT)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_namespaces_alone_leave_nothing_to_reach(around: Outside) -> None:
    found = tried(_NAMESPACES_ALONE, around)
    forked = found.pop("fork")  # what it starts lies behind the same walls, and ends with them
    assert forked == "done"
    assert found == {
        "read": "ENOENT",
        "write": "EROFS",
        "passwd": "ENOENT",
        "proc": "ENOENT",
        "tcp": "ENETUNREACH",
        "file socket": "ENOENT",
        "abstract socket": "ECONNREFUSED",
        "signal": "ESRCH",
        "mount": "EPERM",
        "unmount": "EPERM",
        "host name": "EPERM",
        "user": "EINVAL",  # there is none
    }


def test_the_filter_alone_leaves_reading(around: Outside) -> None:
    found = tried(_FILTER_ALONE, around)
    assert {name for name, result in found.items() if result == "done"} == {
        *("passwd", "proc", "read")
    }
    assert {result for result in found.values() if result != "done"} == {"EPERM"}


def test_no_namespace_is_shared() -> None:
    assert set(NAMESPACES) == {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}


_ALL_CALLS = """
import ctypes, platform
from couler.box.seccomp import MACHINES
machine = MACHINES[platform.machine()]
listed = {*machine.calls, machine.fcntl, *(number for number, _ in machine.opening)}
if platform.machine() == "x86_64":
    # uretprobe and uprobe: newer kernels let them past every filter, and end who has no probe.
    listed |= {335, 336}
libc = ctypes.CDLL(None, use_errno=True)
for number in {*range(1024), *range(2**30, 2**30 + 600), 2**31, 2**32 - 1} - listed:
    ctypes.set_errno(0)
    told = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6), ctypes.get_errno()
    if told != (-1, 1):
        print(f"call {number}: {told}")
print("all tried")
"""


@pytest.mark.usefixtures("around")
def test_the_kernel_refuses_every_call_that_is_not_on_the_list() -> None:
    assert build_ungated(_ALL_CALLS).output == "all tried\n"


@pytest.mark.usefixtures("around")
def test_the_name_of_the_machine_is_not_told() -> None:
    output = build_ungated("import os\nprint(os.uname().nodename, os.uname()[:0])\n").output
    assert output == "couler ()\n"
    told = run_boxed(_workflow(["sh", "-c", "uname -n; cat /proc/sys/kernel/domainname"]))
    assert told.outputs == {"said": "couler\ncouler"}, told.message


def _workflow(command: list[str]) -> Workflow:
    with couler.Workflow("x") as made:
        made.output("said", couler.run_container("busybox", command, step_name="a"))
    return made.to_ir()
