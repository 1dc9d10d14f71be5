"""The commands that take a run up again, as a user can copy them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Again:
    """What these commands must be given.

    Attributes
    ----------
    home
        The folder that `--home` named; None if it was not given.
    file
        The FILE that was given, as it was written; None for a run that goes by its record.
    """

    home: Path | None = None
    file: str | None = None

    def retry(self, run: str) -> str:
        """Return the command that takes a run up where it ended."""
        return self._command("retry", run)

    def retry_mended(self, run: str) -> str | None:
        """Return the command that does so with FILE as it is then, if that can be read again."""
        if self.file is None or self.file == "-":
            return None
        return self._command("retry", run, "--file", self.file)

    def resume(self, run: str, step: str) -> str:
        """Return the command that lets a step go on that waits for a person."""
        return self._command("resume", run, step)

    def _command(self, *words: str) -> str:
        home = () if self.home is None else ("--home", str(self.home))
        return shlex.join(("couler", *words, *home))
