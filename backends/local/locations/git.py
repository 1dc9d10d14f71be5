"""Working trees of Git repositories, fetched by the program git."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import typing as t
from dataclasses import dataclass
from pathlib import Path

from couler.backends.local.secrets import Entries
from couler.errors import StoreError
from couler.ir.artifacts import GitLocation

PROGRAM = "git"

_ASK = '#!/bin/sh\ncase "$1" in [Uu]ser*) cat "{folder}/user";; *) cat "{folder}/password";; esac\n'
"""Answers Git's questions: no credential stands on a command line or in a URL."""


@dataclass(frozen=True, slots=True)
class GitTree:
    """A working tree.

    Parameters
    ----------
    location
        Its texts are known.
    entries
        The secrets of this machine.
    """

    location: GitLocation
    entries: Entries

    def fetch(self, target: Path) -> str:
        """Clone to a path that is free, and return the commit that is there.

        Raises
        ------
        StoreError
            The repository cannot be cloned, or has no such revision.
        """
        with tempfile.TemporaryDirectory(prefix="couler-") as folder:
            environ = self._environ(Path(folder))
            location = self.location
            words = ["clone", "--quiet"]
            if location.branch is not None:
                words += ["--single-branch", "--branch", location.branch]
            if location.depth is not None:
                words += ["--depth", str(location.depth)]
            self._git([*words, "--", str(location.repository), str(target)], environ)
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

    def _check_out(self, revision: str, environ: dict[str, str], target: Path) -> None:
        """Go to a commit, a tag or a branch; one that a shallow clone lacks is fetched."""
        for name in (f"refs/remotes/origin/{revision}", revision):
            if self._has(name, environ, target):
                self._git(["checkout", "--quiet", "--detach", name, "--"], environ, target)
                return
        words = ["fetch", "--quiet", "--end-of-options", "origin", revision]
        self._git(words, environ, target)
        self._git(["checkout", "--quiet", "--detach", "FETCH_HEAD", "--"], environ, target)

    def _has(self, name: str, environ: dict[str, str], target: Path) -> bool:
        words = ["rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"]
        done = subprocess.run(
            [PROGRAM, *words], cwd=target, env=environ, capture_output=True, check=False
        )
        return done.returncode == 0

    def _git(self, words: list[str], environ: dict[str, str], folder: Path | None = None) -> str:
        try:
            done = subprocess.run(
                [PROGRAM, *words],
                cwd=folder,
                env=environ,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except OSError as error:
            raise StoreError(f"git {self.location.repository}: {error}") from error
        if done.returncode != 0:
            told = done.stderr.strip().splitlines()
            why = told[-1] if told else f"git {words[0]} ends with {done.returncode}"
            raise StoreError(f"git {self.location.repository}: {why}")
        return done.stdout

    def _environ(self, folder: Path) -> dict[str, str]:
        location = self.location
        # Nothing that is meant for the engine, and no question to a person.
        environ = {name: text for name, text in os.environ.items() if name[:7] != "COULER_"}
        environ["GIT_TERMINAL_PROMPT"] = "0"
        if location.insecure_skip_tls:
            environ["GIT_SSL_NO_VERIFY"] = "1"
        if location.user is not None and location.password is not None:
            for name, key in (("user", location.user), ("password", location.password)):
                _write(folder / name, self.entries.require(key), 0o600)
            ask = _write(folder / "ask", _ASK.format(folder=folder), 0o700)
            environ["GIT_ASKPASS"] = str(ask)
        words = ["ssh"]
        if location.ssh_key is not None:
            key_file = _write(folder / "key", self.entries.require(location.ssh_key), 0o600)
            words += ["-i", str(key_file), "-o", "IdentitiesOnly=yes"]
        if location.insecure_ignore_host_key:
            words += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        environ["GIT_SSH_COMMAND"] = " ".join([*words, "-o", "BatchMode=yes"])
        return environ


def is_missing() -> bool:
    """Return whether this machine has no git."""
    return shutil.which(PROGRAM) is None


def _write(path: Path, text: str | None, mode: t.Literal[0o600, 0o700]) -> Path:
    path.touch(mode=mode)
    path.write_text(text or "", encoding="utf-8")
    return path
