"""The process that a workflow runs in behind walls: ``python -I -c ... < SPEC``."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
import typing as t
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from couler.box import walls
from couler.box.mounts import (
    BIND,
    DETACH,
    NODEV,
    NOSUID,
    PRIVATE,
    RDONLY,
    REC,
    WallError,
    check,
    mount,
    show,
)

_MOST_OF_LOG = 800
_DEVICES = ("null", "zero", "full", "random", "urandom")
_ONE_OF_SEVERAL = re.compile(r"(\[\d+\]|@\d+)$")
"""The end of the path of an item of a foreach, or of a round of a loop."""


def main() -> t.NoReturn:
    """Read what to run, go behind the walls, and run it."""
    spec = json.load(sys.stdin)
    libc = walls.system_calls()
    try:
        walls.end_with_parent(libc)
        walls.gain_nothing(libc)
        walls.enter_namespaces(libc)
        walls.end_with_parent(libc)
        child = os.fork()
        if child == 0:
            _inside(libc, spec)
    except (WallError, OSError) as error:
        _fail(str(error))
    os.close(spec["result"])
    _, ended = os.waitpid(child, 0)
    os._exit(0 if ended == 0 else 1)


def _fail(text: str) -> t.NoReturn:
    os.write(2, f"{text}\n".encode())
    os._exit(1)


def _inside(libc: ctypes.CDLL, spec: dict[str, t.Any]) -> t.NoReturn:
    """Be the first process of the new process namespace, with whose end all others end."""
    limits = spec["limits"]
    try:
        walls.end_with_parent(libc)
        os.setsid()
        _new_root(libc, spec["shown"], limits["disk_bytes"])
        _empty_environment()
        walls.limit_resources(
            {
                "AS": limits["memory_bytes"],
                "CPU": limits["cpu_s"],
                "CORE": 0,
                "FSIZE": limits["file_bytes"],
                "NOFILE": limits["open_files"],
                "NPROC": limits["processes"],
            }
        )
        _check(spec["shown"])
        os.write(spec["result"], b"{}\n")
    except (WallError, OSError) as error:
        _fail(str(error))
    if spec["workflow"] is None:
        os._exit(0)
    runner = os.fork()  # the first process takes in those that lose their parents
    if runner == 0:
        os.write(spec["result"], _run(spec))
        os._exit(0)
    os.close(spec["result"])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while os.waitpid(-1, 0)[0] != runner:
        continue
    os._exit(0)


def _new_root(libc: ctypes.CDLL, shown: Iterable[str], disk_bytes: int) -> None:
    """Change the root for files in memory, in which a few of the machine can be read."""
    staging = walls.STAGING
    mount(libc, "/", REC | PRIVATE)
    mount(libc, staging, NOSUID, "couler-box", "tmpfs", f"size={disk_bytes},mode=755")
    for path in shown:
        _show(libc, staging, path)
    for folder in ("tmp", "home", "proc", "dev", "etc", "run", "dev/shm", "old"):
        os.makedirs(f"{staging}/{folder}", exist_ok=True)
    for name in _DEVICES:
        Path(f"{staging}/dev/{name}").touch()
        mount(libc, f"{staging}/dev/{name}", BIND, f"/dev/{name}")
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0")):
        os.symlink(target, f"{staging}/dev/{name}")
    user = f"couler:x:{walls.OUTSIDER}:{walls.OUTSIDER}::/home:/bin/sh\n"
    Path(f"{staging}/etc/passwd").write_text(user, encoding="ascii")
    Path(f"{staging}/etc/group").write_text(f"couler:x:{walls.OUTSIDER}:\n", encoding="ascii")
    Path(f"{staging}/etc/hosts").write_text("127.0.0.1 localhost\n", encoding="ascii")
    os.chdir(staging)
    check(libc.pivot_root(b".", b"old"), "change of the root")
    os.chdir("/")
    mount(libc, "/proc", RDONLY | NOSUID | NODEV, "proc", "proc")  # root's runs own /proc/sys
    check(libc.umount2(b"/old", DETACH), "leaving the files of the machine")
    os.rmdir("/old")


def _show(libc: ctypes.CDLL, staging: str, path: str) -> None:
    """Show a file or folder of the machine at its place, to be read; a link as the link."""
    place = staging + path
    if os.path.lexists(place):
        return  # it lies in a folder that is shown, or is shown already
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), place)
        return
    show(libc, staging, path)


def _empty_environment() -> None:
    os.environ.clear()
    os.environ.update(
        PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        HOME="/home",
        LANG="C.UTF-8",
        TMPDIR="/tmp",
    )


def _check(shown: Iterable[str]) -> None:
    """Look from inside whether the files and the processes of the machine are gone."""
    tops = {path.split("/")[1] for path in shown}
    known = tops | {"tmp", "home", "proc", "dev", "etc", "run"}
    more = set(os.listdir("/")) - known
    numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    if more or os.getpid() != 1 or numbers != ["1"]:
        raise WallError("the process still sees files or processes of the machine")
    interfaces = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]
    if [line.split(":")[0].strip() for line in interfaces] not in ([], ["lo"]):
        raise WallError("the process still sees the network of the machine")


def _run(spec: dict[str, t.Any]) -> bytes:
    """Run the workflow, and return what is told of it: one line of JSON."""
    from couler.backends.base import RunOptions
    from couler.errors import CoulerError
    from couler.ir.serialize import read_json
    from couler.stages import run

    os.chdir("/home")
    try:
        workflow = read_json(json.dumps(spec["workflow"]))
        done = run(
            workflow,
            parameters=spec["parameters"],
            options=RunOptions(home=Path("/home/.couler"), jobs=4, use_cache=False),
            passes=(),
        )
    except CoulerError as error:
        refused: dict[str, t.Any] = {
            "status": None,
            "outputs": {},
            "states": {},
            "message": str(error),
        }
        return json.dumps(refused).encode()
    wholes = {path.rpartition("/")[0] for path in done.steps}
    for path in done.steps:
        while (outer := _ONE_OF_SEVERAL.sub("", path)) != path:
            wholes.add(outer)
            path = outer
    states = Counter(step.status for path, step in done.steps.items() if path not in wholes)
    failed = [
        f"{path}: {step.message}{_end_of(step.log)}"
        for path, step in done.steps.items()
        if step.message and path not in wholes
    ]
    told = {
        "status": done.status,
        "outputs": dict(done.outputs),
        "states": dict(states),
        "message": failed[0] if failed else done.message,
    }
    return json.dumps(told, default=str).encode()


def _end_of(log: Path | None) -> str:
    """Return the last lines that a step wrote, for those who fix it."""
    if log is None or not log.is_file():
        return ""
    text = log.read_text(encoding="utf-8", errors="replace")[-_MOST_OF_LOG:].strip()
    return f"; it wrote: {text}" if text else ""
