"""Servers of PostgreSQL: what they are, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import postgresql
from tests.support.postgresql import PostgresqlError, PostgresqlServer

ROOT = Path(__file__).parents[2]

OPENS = """
import sys, time
from pathlib import Path
from tests.support.postgresql import PostgresqlServer
with PostgresqlServer(Path(sys.argv[1])) as server:
    print(server.port, server.execute("SHOW data_directory"), flush=True)
    time.sleep(600)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := postgresql.obstacle():
        pytest.skip(reason)


def test_it_carries_statements_out_and_is_gone_at_the_end(tmp_path: Path) -> None:
    with PostgresqlServer(tmp_path / "log") as server:
        folder = Path(server.execute("SHOW data_directory").strip())
        assert server.execute("SELECT :'what'", what="it's \\ it") == "it's \\ it\n"
        assert server.execute("SELECT 1 UNION SELECT 2 ORDER BY 1") == "1\n2\n"
        with pytest.raises(PostgresqlError, match="nothere"):
            server.execute("SELECT * FROM nothere")
        assert server.execute("SHOW listen_addresses") == "127.0.0.1\n"
        assert folder.exists()
        assert answers(server.port)
    assert not folder.parent.exists()
    assert not answers(server.port)


def test_it_is_gone_where_its_process_was_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OPENS, tmp_path / "log"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        port, data = process.stdout.readline().split()
        assert answers(int(port))
        os.killpg(process.pid, signal.SIGKILL)
    limit = time.monotonic() + 300
    while answers(int(port)) or Path(data).parent.exists():
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_a_port_that_is_taken_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = [postgresql.free_port(), taken.getsockname()[1]]
        monkeypatch.setattr(postgresql, "free_port", ports.pop)
        with PostgresqlServer(tmp_path / "log") as server:
            assert server.execute("SELECT 1") == "1\n"
    assert ports == []


def test_a_server_that_does_not_start_is_told_before_all_waiting_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_LIMIT_S", 1e6)
    monkeypatch.setitem(postgresql._SETTINGS, "max_connections", "many")
    with pytest.raises(PostgresqlError, match=r'max_connections.*"many"'):
        PostgresqlServer(tmp_path / "log").__enter__()


def test_programs_of_one_version_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, programs in {
        "9": ("initdb", "postgres"),
        "15": ("initdb",),
        "x": ("initdb",),
    }.items():
        folder = tmp_path / "installed" / name / "bin"
        folder.mkdir(parents=True)
        for program in programs:
            (folder / program).touch()
    monkeypatch.setattr(postgresql, "_INSTALLED", tmp_path / "installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "make postgresql" in str(postgresql.obstacle())
    (tmp_path / "psql").touch(mode=0o755)
    found = postgresql._programs()
    assert found is not None
    assert found["initdb"] == str(tmp_path / "installed" / "9" / "bin" / "initdb")


def answers(port: int) -> bool:
    """Return whether something listens at a port of loopback."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
