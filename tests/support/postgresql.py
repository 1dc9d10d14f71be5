"""PostgreSQL servers on loopback, each with a folder and a database of its own.

`make postgresql` installs the programs; no server of the machine is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.ports import free_port

_KEEPER = Path(__file__).with_name("postgresql_keeper.py")
_PROGRAMS = ("initdb", "postgres", "psql")
_INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian has the programs, of which those of the server are not on the path."""
_USERS = ("postgres", "nobody")
"""Who the server runs as where root runs the tests: it refuses to run as root."""
_LIMIT_S = 900.0
_POLL_S = 0.1
_PORTS = 5
"""How often another port is tried, as one can be taken between the choice and its use."""
_USER = "tests"
_DATABASE = "postgres"
"""One that a new server has."""

_SETTINGS = {
    # What is lost with the machine is not missed.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # It is reached by loopback alone, and takes no shared memory beyond its folder.
    "dynamic_shared_memory_type": "mmap",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
}


class PostgresqlError(Exception):
    """The server cannot be started, or refuses a statement."""


def obstacle() -> str | None:
    """Why there can be no server here, or None."""
    if _programs() is None:
        return "no PostgreSQL here: `make postgresql` installs it"
    if not os.geteuid() and _owner() is None:
        return f"PostgreSQL does not run as root, and there is none of the users {_USERS}"
    return None


class PostgresqlServer:
    """A server with an empty database. Use it in a ``with`` statement.

    All is gone at its end, and so it is when the process that has started it is killed.

    Parameters
    ----------
    log
        The file that it writes to.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._password = secrets.token_hex(16)
        self._port = 0
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        """Where it listens on loopback."""
        return self._port

    @property
    def address(self) -> str:
        """User, password, host, port and database, as they stand in a URL after the scheme."""
        return f"{_USER}:{self._password}@127.0.0.1:{self._port}/{_DATABASE}"

    def __enter__(self) -> PostgresqlServer:
        if reason := obstacle():
            raise PostgresqlError(reason)
        for left in reversed(range(_PORTS)):
            self._port = free_port()
            try:
                self._start()
                self._wait_ready()
            except PostgresqlError as error:
                self.close()
                if not left or "could not bind" not in str(error):
                    raise
            except BaseException:
                self.close()
                raise
            else:
                break
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and remove its folder."""
        if self._keeper is not None:
            assert self._keeper.stdin is not None
            self._keeper.stdin.close()
            self._keeper.wait(_LIMIT_S)
            self._keeper = None

    def execute(self, statement: str, **variables: str) -> str:
        """Carry a statement out, and return what it gives: a line a row.

        `variables` stand in it as ``:'name'``.
        """
        given = [f"--set={name}={value}" for name, value in variables.items()]
        try:
            done = subprocess.run(
                [_program("psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", *given],
                input=statement,
                env={
                    "PATH": os.environ["PATH"],
                    "PGCONNECT_TIMEOUT": "30",
                    "PGDATABASE": _DATABASE,
                    "PGHOST": "127.0.0.1",
                    # A lock that somebody has left is told, and not waited for.
                    "PGOPTIONS": "-c client_min_messages=error -c lock_timeout=120s",
                    "PGPASSWORD": self._password,
                    "PGPORT": str(self._port),
                    "PGUSER": _USER,
                },
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise PostgresqlError(f"psql has not ended after {_LIMIT_S:.0f} s") from error
        if done.returncode or done.stderr:
            raise PostgresqlError(done.stderr)
        return done.stdout

    def _start(self) -> None:
        """Have the keeper make a folder and start the server in it."""
        owner = None if os.geteuid() else _owner()
        # Folders of root's own may be closed to others.
        place = tempfile.gettempdir() if owner is None else "/tmp"
        folder = tempfile.mkdtemp(prefix="postgresql-", dir=place)
        task: Mapping[str, object] = {
            "folder": folder,
            "initdb": _program("initdb"),
            "postgres": _program("postgres"),
            "user": _USER,
            "password": self._password,
            "port": self._port,
            "settings": _SETTINGS,
            "owner": owner,
        }
        with open(self._log, "ab") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, _KEEPER],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(task).encode() + b"\n")
        self._keeper.stdin.flush()

    def _wait_ready(self) -> None:
        assert self._keeper is not None
        limit = time.monotonic() + _LIMIT_S
        while True:
            if self._keeper.poll() is not None:
                raise PostgresqlError(self._log.read_text(errors="replace"))
            try:
                self.execute("SELECT 1")
            except PostgresqlError as error:
                if time.monotonic() > limit:
                    text = self._log.read_text(errors="replace")
                    raise PostgresqlError(f"it does not answer: {error}\n{text}") from error
                time.sleep(_POLL_S)
            else:
                return


def _program(name: str) -> str:
    found = _programs()
    assert found is not None, obstacle()
    return found[name]


def _programs() -> dict[str, str] | None:
    """Return the paths of the programs, all of one version; None where they are not here."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    versions = [one for one in _INSTALLED.glob("*/bin") if one.parent.name.isdigit()]
    folders += sorted(versions, key=lambda one: int(one.parent.name), reverse=True)
    for folder in folders:
        found = {name: folder / name for name in _PROGRAMS}
        if psql := shutil.which("psql"):
            found["psql"] = Path(psql)
        if all(path.exists() for path in found.values()):
            return {name: str(path) for name, path in found.items()}
    return None


def _owner() -> str | None:
    """Return who the server is to run as where root runs the tests; None if there is nobody."""
    for name in _USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None
