"""What a container has written, as the kubelet keeps it: lines, each with the time it came."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 0.02


@dataclass(frozen=True)
class Line:
    """A line with its end, if it has one."""

    time: datetime.datetime
    text: bytes

    @property
    def stamp(self) -> bytes:
        """The time in RFC 3339, with as many digits as the kubelet writes."""
        return self.time.strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


class Log:
    """The lines of standard output and standard error in the order in which they were seen."""

    def __init__(self, *files: Path) -> None:
        self.lines: list[Line] = []
        self.ended = False
        self._changed = threading.Condition()
        self._files = files
        self._positions = dict.fromkeys(files, 0)
        self._rests = dict.fromkeys(files, b"")

    def read(self, *, to_the_end: bool) -> None:
        """Take over what is new in the files. At the end, half a line counts as one."""
        with self._changed:
            now = datetime.datetime.now(datetime.UTC)
            found = [line for file in self._files for line in self._new_lines(file)]
            if to_the_end:
                found += [rest for rest in self._rests.values() if rest]
                self._rests.clear()
            self.lines += [Line(now, text) for text in found]
            self.ended = self.ended or to_the_end
            if found or self.ended:
                self._changed.notify_all()

    def _new_lines(self, file: Path) -> list[bytes]:
        if file not in self._rests or file.stat().st_size == self._positions[file]:
            return []
        with open(file, "rb") as opened:
            opened.seek(self._positions[file])
            new = opened.read()
        self._positions[file] += len(new)
        *lines, self._rests[file] = (self._rests[file] + new).split(b"\n")
        return [line + b"\n" for line in lines]

    def follow(self, closing: Callable[[], bool]) -> Iterator[Line]:
        """Yield all lines until the container has ended, or `closing` says so."""
        position = 0
        while True:
            with self._changed:
                while position == len(self.lines) and not self.ended and not closing():
                    self._changed.wait(_TICK_S * 5)
                new = self.lines[position:]
                if not new and (self.ended or closing()):
                    return
            yield from new
            position += len(new)


def select(
    lines: list[Line], query: dict[str, str], now: datetime.datetime | None = None
) -> list[Line]:
    """The lines that ``sinceSeconds``, ``sinceTime`` and ``tailLines`` of a request ask for."""
    since: datetime.datetime | None = None
    if text := query.get("sinceSeconds"):
        now = now or datetime.datetime.now(datetime.UTC)
        since = now - datetime.timedelta(seconds=int(text))
    if text := query.get("sinceTime"):
        since = datetime.datetime.fromisoformat(text)
    if since is not None:
        lines = [line for line in lines if line.time >= since]
    if text := query.get("tailLines"):
        lines = lines[len(lines) - int(text) :] if int(text) < len(lines) else lines
    return lines


def rendered(line: Line, query: dict[str, str]) -> bytes:
    """A line as it is sent."""
    stamped = query.get("timestamps") in ("1", "true", "True")
    return (line.stamp + b" " if stamped else b"") + line.text
