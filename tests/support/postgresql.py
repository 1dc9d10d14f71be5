"""PostgreSQL servers on loopback, each with a folder and a database of its own.

`make postgresql` installs the program; it need not run as a service of the machine.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.ports import free_port

_USERS = ("postgres", "nobody")
"""Who the server runs as where the tests are run by root, as whom it refuses to run."""
_INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian has the programs of the server, which it does not put on the path."""
_LIMIT_S = 300.0
_POLL_S = 0.1
_NAME = "tests"

# What is lost with the machine is not missed.
_SETTINGS = {
    "dynamic_shared_memory_type": "mmap",
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "synchronous_commit": "off",
    "unix_socket_directories": "",
}


class PostgresqlError(Exception):
    """The server cannot be started."""


def obstacle() -> str | None:
    """Why there can be no server here, or None."""
    if _program("initdb") is None or _program("postgres") is None:
        return "no PostgreSQL here: `make postgresql` installs it"
    return None


class PostgresqlServer:
    """A server with an empty database. Use it in a ``with`` statement; all is gone at its end.

    Parameters
    ----------
    log
        The file that it writes to.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._password = secrets.token_hex(16)
        self._port = 0
        self._opened = contextlib.ExitStack()

    @property
    def address(self) -> str:
        """User, password, host, port and database, as they stand in an URL after the scheme."""
        return f"{_NAME}:{self._password}@127.0.0.1:{self._port}/{_NAME}"

    def __enter__(self) -> PostgresqlServer:
        with contextlib.ExitStack() as opened:
            folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
            opened.callback(shutil.rmtree, folder)
            self._make(folder)
            self._port = free_port()
            opened.callback(self._end, self._start(folder))
            self._wait_ready()
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def execute(self, statement: str, **variables: str) -> str:
        """Carry a statement out, and return what it gives: a line a row.

        `variables` stand in it as ``:'name'``.
        """
        given = [f"--set={name}={value}" for name, value in variables.items()]
        done = subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", *given],
            input=statement,
            env={
                "PATH": os.environ["PATH"],
                "PGHOST": "127.0.0.1",
                "PGPORT": str(self._port),
                "PGUSER": _NAME,
                "PGPASSWORD": self._password,
                "PGDATABASE": _NAME,
                "PGOPTIONS": "-c client_min_messages=error",
            },
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        if done.returncode or done.stderr:
            raise PostgresqlError(done.stderr)
        return done.stdout

    def _make(self, folder: Path) -> None:
        """Make the files of the server, which has one user, and the database of that name."""
        password = folder / "password"
        password.write_text(self._password)
        if owner := _owner():
            for path in (folder, password):
                shutil.chown(path, owner)
        made = ["-D", str(folder / "data"), "-U", _NAME, f"--pwfile={password}", "--no-sync"]
        self._run("initdb", *made, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C")
        # Alone, without a server: a database has the name of its user.
        self._run("postgres", "--single", "-D", str(folder / "data"), "postgres", sent=_CREATE)

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        options = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                [str(_program("postgres")), "-D", folder / "data", "-p", str(self._port), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
                user=_owner(),
            )

    def _run(self, name: str, *arguments: str, sent: str = "") -> None:
        done = subprocess.run(
            [str(_program(name)), *arguments],
            input=sent,
            capture_output=True,
            text=True,
            cwd="/",
            user=_owner(),
            timeout=_LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise PostgresqlError(f"{name}: {done.stdout}{done.stderr}")

    def _wait_ready(self) -> None:
        limit = time.monotonic() + _LIMIT_S
        while True:
            try:
                self.execute("SELECT 1")
            except PostgresqlError as error:
                if time.monotonic() > limit:
                    text = self._log.read_text(errors="replace")
                    raise PostgresqlError(f"it does not answer: {error}\n{text}") from error
                time.sleep(_POLL_S)
            else:
                return

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the server at once; its own processes end with it."""
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


_CREATE = f"CREATE DATABASE {_NAME};\n"


def _program(name: str) -> Path | None:
    """Return the newest that is installed."""
    versions = sorted(_INSTALLED.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    found = shutil.which(name) or (versions[-1] if versions else None)
    return Path(found) if found else None


def _owner() -> str | None:
    """Return who the server is to run as, None for who runs the tests."""
    if os.geteuid():
        return None
    known = {one.pw_name for one in pwd.getpwall()}
    return next(name for name in _USERS if name in known)
