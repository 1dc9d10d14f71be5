"""The commands that go on with a run, as a user can copy them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Again:
    """What these commands must be given."""

    home: Path | None = None
    file: str | None = None
    is_elsewhere: bool = False
    with_file: tuple[str, ...] = ()

    def broken_off(self, run: str) -> str:
        """Return what to do after this process has ended before the run."""
        if not self.is_elsewhere:
            return f"resume with {self.retry(run)}"
        return f"{run} goes on: {self.watch(run)} shows it, {self.cancel(run)} ends it"

    def watch(self, run: str) -> str:
        """Return the command that shows a run until it ends."""
        return self._command("status", run, "--watch")

    def cancel(self, run: str) -> str:
        """Return the command that ends a run."""
        return self._command("cancel", run)

    def logs(self, run: str, *words: str) -> str:
        """Return the command that shows what a run's steps have written."""
        return self._command("logs", run, *words)

    def retry(self, run: str) -> str:
        """Return the command that takes a run up where it ended."""
        return self._command("retry", run)

    def retry_mended(self, run: str) -> str | None:
        """Return the command that does so with FILE as it is then, if that can be read again."""
        if self.file is None or self.file == "-":
            return None
        return self._command("retry", run, "--file", self.file, *self.with_file)

    def resume(self, run: str, step: str, entered: Iterable[str] = ()) -> str:
        """Return the command that lets a step go on that waits for a person."""
        values = (word for name in entered for word in ("-p", f"{name}=..."))
        return self._command("resume", run, step, *values)

    def _command(self, *words: str) -> str:
        home = () if self.home is None else ("--home", str(self.home))
        return shlex.join(("couler", *words, *home))
