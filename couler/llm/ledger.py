"""What the calls of a run took."""

from __future__ import annotations

import threading

from couler.llm.dialogue import Usage


class Ledger:
    """Adds up what calls took, by the names of their prompts."""

    def __init__(self, *, is_priced: bool) -> None:
        self._none = Usage(cost=0.0 if is_priced else None)
        self._by_prompt: dict[str, Usage] = {}
        self._lock = threading.Lock()

    def add(self, prompt: str, usage: Usage) -> None:
        """Take in a call."""
        with self._lock:
            self._by_prompt[prompt] = self._by_prompt.get(prompt, self._none) + usage

    @property
    def total(self) -> Usage:
        """What all of them took."""
        return sum(self.by_prompt.values(), self._none)

    @property
    def by_prompt(self) -> dict[str, Usage]:
        """What those of each prompt took."""
        with self._lock:
            return dict(self._by_prompt)
