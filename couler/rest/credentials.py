"""Credentials by reference: settings say where a secret is, and it is read when it is needed."""

from __future__ import annotations

import shlex
import subprocess
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from couler.errors import ConfigurationError

FORMS = '{env = "NAME"}, {file = "PATH"} or {command = "PROGRAM WORD..."}'
"""What a reference looks like in a settings file, for messages."""

_LIMIT_S = 30.0
"""How long a command may take."""

_LARGEST = 1 << 20


class Token(t.Protocol):
    """What is sent to a server to get in; a `Credential` is one."""

    @property
    def can_change(self) -> bool:
        """Whether reading again may give another one."""
        ...

    def read(self) -> str:
        """Return the token."""
        ...

    def forget(self) -> None:
        """Read it anew next time."""
        ...


@dataclass(slots=True)
class Credential:
    """A secret that is read on first use, and again when a server does not take it any more."""

    what: str
    reference: object
    environment: Mapping[str, str]
    _kind: str = field(default="", init=False, repr=False)
    _named: list[str] | str = field(default="", init=False, repr=False)
    _value: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        match self.reference:
            case {"env": str(name), **others} if name and not others:
                self._kind, self._named = "env", name
            case {"file": str(name), **others} if name and not others:
                self._kind, self._named = "file", name
            case {"command": words, **others} if _are_words(words) and not others:
                self._kind, self._named = "command", words
            case _:  # what is there may be the secret itself: it is not shown
                raise ConfigurationError(f"{self.what} must be a reference: {FORMS}")

    def __repr__(self) -> str:
        return f"Credential({self.what})"

    @property
    def can_change(self) -> bool:
        """Whether reading again may give another secret."""
        return self._kind != "env"

    def read(self) -> str:
        """Return the secret."""
        if self._value is None:
            found = self._find().strip()
            origin = f"{self._kind} {_shown(self._named)}"
            if not found:
                raise ConfigurationError(f"{self.what}: {origin} gives nothing")
            if not (found.isascii() and found.isprintable()):
                raise ConfigurationError(
                    f"{self.what}: {origin} gives more than one line, or characters that a header "
                    "cannot have"
                )
            self._value = found
        return self._value

    def forget(self) -> None:
        """Read it anew next time."""
        self._value = None

    def _find(self) -> str:
        if isinstance(self._named, list) or self._kind == "command":
            return self._from_command(self._named)
        return self._from_env(self._named) if self._kind == "env" else self._from_file(self._named)

    def _from_env(self, name: str) -> str:
        value = self.environment.get(name)
        if value is None:
            raise ConfigurationError(f"{self.what}: the environment has no variable {name}")
        return value

    def _from_file(self, path: str) -> str:
        place = Path(path).expanduser()
        try:
            with place.open(encoding="utf-8") as file:
                return file.read(_LARGEST)
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigurationError(f"{self.what}: {place} cannot be read: {why}") from error

    def _from_command(self, words: str | list[str]) -> str:
        try:
            command = shlex.split(words) if isinstance(words, str) else list(words)
        except ValueError as error:
            raise ConfigurationError(f"{self.what}: its command cannot be read: {error}") from error
        try:
            done = subprocess.run(
                command,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ConfigurationError(
                f"{self.what}: {_shown(command)} has not ended after {_LIMIT_S:.0f} s"
            ) from error
        except OSError as error:
            raise ConfigurationError(
                f"{self.what}: {_shown(command)} cannot be started: {error.strerror}"
            ) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
            raise ConfigurationError(
                f"{self.what}: {_shown(command)} ended with {done.returncode}"
                + (f": {said}" if said else "")
            )
        return done.stdout.decode(errors="replace")


def _are_words(words: object) -> bool:
    if isinstance(words, list):
        return bool(words) and all(isinstance(word, str) for word in words)
    return isinstance(words, str) and bool(words.strip())


def _shown(value: str | list[str]) -> str:
    """Return what a reference names; of a command its program, since words may be secrets."""
    words = value.split() if isinstance(value, str) else value
    return words[0]
