"""Working trees of Git repositories, fetched by the program git."""

from __future__ import annotations

import re
import shlex
import shutil
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from couler.errors import StoreError
from couler.ir.artifacts import GitLocation
from couler.locations.private import write_private
from couler.locations.secrets import Entries
from couler.locations.stop import Stop

PROGRAM = "git"


class CommandEnd(t.NamedTuple):
    """How a program ended, and what it wrote."""

    exit_code: int
    stdout: str
    stderr: str


class RunCommand(t.Protocol):
    """Runs a program to its end or to a stop."""

    def __call__(
        self, words: Sequence[str], *, environ: Mapping[str, str], directory: Path, stop: Stop
    ) -> CommandEnd:
        """Return how it ended."""
        ...


_ASK = """\
#!/bin/sh
case $1 in
    "Username for '"*) file=user ;;
    "Password for '"*) file=password ;;
    *) exit 1 ;;
esac
asked=${1#*\\'}
asked=${asked%\\'*}
scheme=${asked%%://*}
host=${asked#*://}
case $host in
    */*@*) exit 1 ;;  # what seems to be the host may be part of a name or a path
    *@*) host=${host##*@} ;;
esac
server=$(printf %s "$scheme://${host%%/*}" | tr A-Z a-z)
case $server in
    http://*) server=${server%:80} ;;
    https://*) server=${server%:443} ;;
esac
[ "$server" = @SERVER@ ] || exit 1
exec cat @FOLDER@/"$file"
"""
"""Answers Git's questions: no credential stands on a command line or in a URL.

Submodules and redirects make Git ask for other servers too, which get nothing.
"""

_SERVER = re.compile(r"(https?)://(?:[^/?#]*@)?([^/?#@]+)", re.IGNORECASE)

_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class GitTree:
    """A working tree."""

    location: GitLocation
    entries: Entries
    inherited: Mapping[str, str]
    private: Path
    stop: Stop
    run: RunCommand

    def fetch(self, target: Path) -> str:
        """Clone to a path that is free, and return the commit that is there."""
        environ = self._environ()
        location = self.location
        words = ["clone", "--quiet"]
        if location.branch is not None:
            words += ["--single-branch", "--branch", location.branch]
        if location.depth is not None:
            words += ["--depth", str(location.depth)]
        words += ["--", str(location.repository), str(target)]
        self._git(words, environ, target.parent)
        if location.fetch:
            depth = [] if location.depth is None else ["--depth", str(location.depth)]
            fetch = ["fetch", "--quiet", *depth, "origin", *location.fetch]
            self._git(fetch, environ, target)
        if location.revision is not None:
            self._check_out(str(location.revision), environ, target)
        if location.submodules:
            words = ["submodule", "--quiet", "update", "--init", "--recursive"]
            self._git(words, environ, target)
        return self._git(["rev-parse", "HEAD"], environ, target).strip()

    def _check_out(self, revision: str, environ: Mapping[str, str], target: Path) -> None:
        """Go to a commit, a tag or a branch; one that a shallow clone lacks is fetched."""
        for name in (f"refs/remotes/origin/{revision}", revision):
            if self._has(name, environ, target):
                self._git(["checkout", "--quiet", "--detach", name, "--"], environ, target)
                return
        words = ["fetch", "--quiet", "--end-of-options", "origin", revision]
        self._git(words, environ, target)
        self._git(["checkout", "--quiet", "--detach", "FETCH_HEAD", "--"], environ, target)

    def _has(self, name: str, environ: Mapping[str, str], target: Path) -> bool:
        words = ["rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"]
        return self._run(words, environ, target).exit_code == 0

    def _git(self, words: list[str], environ: Mapping[str, str], folder: Path) -> str:
        end = self._run(words, environ, folder)
        if end.exit_code != 0:
            told = end.stderr.strip().splitlines()
            why = told[-1] if told else f"git {words[0]} ends with {end.exit_code}"
            raise StoreError(f"git {self.location.repository}: {why}")
        return end.stdout

    def _run(self, words: list[str], environ: Mapping[str, str], folder: Path) -> CommandEnd:
        try:
            return self.run([PROGRAM, *words], environ=environ, directory=folder, stop=self.stop)
        except OSError as error:
            raise StoreError(f"git {self.location.repository}: {error}") from error

    def _environ(self) -> dict[str, str]:
        location, folder = self.location, self.private
        environ = {**self.inherited, "GIT_TERMINAL_PROMPT": "0"}  # it asks no person
        if location.insecure_skip_tls:
            environ["GIT_SSL_NO_VERIFY"] = "1"
        if location.user is not None and location.password is not None:
            for name, key in (("user", location.user), ("password", location.password)):
                write_private(folder / name, self.entries.require(key))
            ask = write_private(folder / "ask", _ask(location, folder), 0o700)
            environ["GIT_ASKPASS"] = str(ask)
        words = ["ssh"]
        if location.ssh_key is not None:
            key_file = write_private(folder / "key", self.entries.require(location.ssh_key))
            words += ["-i", str(key_file), "-o", "IdentitiesOnly=yes"]
        if location.insecure_ignore_host_key:
            words += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        environ["GIT_SSH_COMMAND"] = shlex.join([*words, "-o", "BatchMode=yes"])
        return environ


def _ask(location: GitLocation, folder: Path) -> str:
    """Return the program that knows the credentials of one server."""
    server = shlex.quote(_server(str(location.repository)))
    return _ASK.replace("@SERVER@", server).replace("@FOLDER@", shlex.quote(str(folder)))


def _server(repository: str) -> str:
    """Return scheme, host and port of an address as `_ASK` compares them; "" if it has none."""
    found = _SERVER.match(repository)
    if found is None:
        return ""
    scheme, host = found[1].lower(), found[2].lower()
    return f"{scheme}://{host.removesuffix(_PORTS[scheme])}"


def is_missing() -> bool:
    """Return whether this machine has no git."""
    return shutil.which(PROGRAM) is None
