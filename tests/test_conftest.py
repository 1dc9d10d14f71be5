"""What conftest.py promises: tests are offline; a golden file that differs or is missing fails."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

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


def test_golden_file_must_exist_and_be_equal(
    golden: Callable[[Path, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "case.yaml"
    with pytest.raises(AssertionError, match="no golden file"):
        golden(path, "a: 1\n")
    path.write_text("a: 1\n", encoding="utf-8")
    golden(path, "a: 1\n")
    with pytest.raises(AssertionError, match="differs"):
        golden(path, "a: 2\n")
