"""A test that reaches out of this machine fails, so the default run cannot depend on a network."""

from __future__ import annotations

import socket

import pytest


def test_connection_beyond_this_machine_fails() -> None:
    # 192.0.2.1 is reserved for documentation (RFC 5737): nothing answers there.
    with (
        socket.socket() as outside,
        pytest.raises(pytest.fail.Exception, match=r"connects to 192\.0\.2\.1"),
    ):
        outside.connect(("192.0.2.1", 80))


def test_connection_on_this_machine_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as inside:
        inside.connect(server.getsockname())
