"""Ending what has left the sessions of attempts, for many attempts at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from couler.backends.local.orphans import end_attempts


class Sweeper:
    """Ends what attempts have left behind."""

    def __init__(self) -> None:
        self._wanted: set[Path] = set()
        self._current: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def end(self, works: Iterable[Path]) -> None:
        """End what lives of attempts that have ended."""
        ended = set(works)
        if not ended:
            return
        self._wanted |= ended
        if self._next is None:
            self._next = asyncio.create_task(self._sweep(self._current))
        await asyncio.shield(self._next)

    async def _sweep(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        wanted, self._wanted = self._wanted, set()
        self._current, self._next = self._next, None
        await asyncio.to_thread(end_attempts, wanted)
