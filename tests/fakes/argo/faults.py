"""What a test lets go wrong in an emulated Argo Server."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Literal

FOREVER = 1 << 30

Cut = Literal["before", "after", "within"]


@dataclass(frozen=True)
class Fault:
    """What happens to requests whose method and path match, the first `times` ones."""

    path: str
    """A regular expression that must match somewhere in the path."""
    method: str = ".*"
    times: int = FOREVER
    code: int | None = None
    """The status of the refusal; None where it is not refused."""
    message: str = "refused by the test"
    retry_after: str | None = None
    delay_s: float = 0.0
    """How long the answer takes to begin."""
    cut: Cut | None = None
    """Where the connection ends: before anything is done, after it, or in the middle of the
    answer."""
    after_events: int | None = None
    """A stream ends, without its proper end, after so many results."""


class Faults:
    """The faults of a server. They can be set while it runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[tuple[Fault, list[int]]] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._left.append((fault, [fault.times]))

    def clear(self) -> None:
        with self._lock:
            self._left.clear()

    def of(self, method: str, path: str) -> Fault | None:
        """Take what a request meets."""
        with self._lock:
            for fault, left in self._left:
                fits = re.fullmatch(fault.method, method) and re.search(fault.path, path)
                if fits and left[0] > 0:
                    left[0] -= 1
                    return fault
        return None
