"""What the calls of a run took."""

from __future__ import annotations

import threading

from couler.llm.dialogue import Usage


class Ledger:
    """Adds up what calls took."""

    def __init__(self, *, is_priced: bool) -> None:
        self.total = Usage(cost=0.0 if is_priced else None)
        self._lock = threading.Lock()

    def add(self, usage: Usage) -> None:
        """Take in a call."""
        with self._lock:
            self.total += usage
