"""Ports of loopback for servers that listen later."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

_GIVEN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a port that the system gives to nobody who asks for any.

    So it may be listened at later, and again by what is started anew.
    """
    lowest_given = int(_GIVEN_PORTS.read_text().split()[0])
    ports = range(1024, min(lowest_given, 32768))
    while True:
        port = random.choice(ports)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
