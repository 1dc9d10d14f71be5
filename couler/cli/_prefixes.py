"""The paths that lines of logs begin with, where lines of several steps are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from couler.cli.session import Session

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow")


@dataclass(slots=True)
class Prefixes:
    """What lines begin with."""

    session: Session
    step: str | None
    paths: list[str] = field(default_factory=list)
    _made: dict[str, str] = field(default_factory=dict)

    def know(self, paths: Iterable[str]) -> None:
        """Make room for the lines of more steps."""
        new = [path for path in dict.fromkeys(paths) if path not in self._made]
        self.paths += new
        if not new:
            return
        width = max(map(len, self.paths))
        for index, path in enumerate(self.paths):
            colour = _COLOURS[index % len(_COLOURS)]
            text = self.session.style(f"{path:{width}} | ", err=False, fg=colour)
            self._made[path] = "" if path == self.step else text

    def of(self, path: str) -> str:
        """Return what lines of a step begin with."""
        return self._made[path]


def is_of(path: str, step: str) -> bool:
    """Return whether a path is a step, or an item, a round or a step inside of it."""
    return path == step or path.startswith((f"{step}[", f"{step}/", f"{step}@"))
