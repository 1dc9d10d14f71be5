"""Waiting for the end of a program that is started by hand."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
import threading
from pathlib import Path

LIFETIME_S = 24 * 3600.0
"""After so long a forgotten program ends by itself."""


def wait_for_interrupt() -> None:
    """Wait for Ctrl-C or SIGTERM."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    ended.wait(LIFETIME_S)


def empty_folder(name: str) -> Path:
    """Return the folder of what is started, below `build`, without what an earlier one left."""
    folder = Path("build", "up", name).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def refuse_used(port: int) -> None:
    """End the program if something listens at a port of loopback already."""
    with socket.socket() as one:
        if one.connect_ex(("127.0.0.1", port)) == 0:
            sys.exit(f"something listens at 127.0.0.1:{port} already; end it first")
