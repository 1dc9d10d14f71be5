"""A program that runs a PostgreSQL server for as long as its standard input is open.

So the server and its folder are gone also where the process that wanted them was killed. The first
line says what to run, see `tests.support.postgresql`.
"""

from __future__ import annotations

import json
import pwd
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

_POLL_S = 0.5
_END_S = 300.0


def main() -> int:
    """Make the files of a server, run it, and remove them."""
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    folder = Path(task["folder"])
    try:
        return _keep(task, folder)
    finally:
        # Processes of a server that was killed may still write.
        shutil.rmtree(folder, ignore_errors=True)


def _keep(task: dict[str, Any], folder: Path) -> int:
    owner = _owner(task["owner"])
    password, data = folder / "password", folder / "data"
    password.write_text(task["password"], encoding="utf-8")
    if owner:
        for path in (folder, password):
            shutil.chown(path, owner["user"], owner["group"])
    made = subprocess.run(
        [
            *(task["initdb"], "--pgdata", data, "--username", task["user"], "--pwfile", password),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"),
        ],
        stdin=subprocess.DEVNULL,
        check=False,
        **owner,
    )
    if made.returncode:
        return made.returncode
    settings = [f"--{name}={value}" for name, value in task["settings"].items()]
    server = subprocess.Popen(
        [task["postgres"], "-D", data, "-p", str(task["port"]), *settings],
        stdin=subprocess.DEVNULL,
        cwd=folder,
        **owner,
    )
    try:
        # What becomes readable is the end of the input: nothing else is sent.
        while server.poll() is None and not select.select([sys.stdin], [], [], _POLL_S)[0]:
            continue
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGQUIT)  # at once, with all its processes
            try:
                server.wait(_END_S)
            except subprocess.TimeoutExpired:
                server.kill()
    return server.wait()


def _owner(name: str | None) -> dict[str, Any]:
    """Return the arguments of `subprocess` that make a process another user's."""
    if name is None:
        return {}
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


if __name__ == "__main__":
    sys.exit(main())
