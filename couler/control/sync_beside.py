"""A budget kept beside a run that is watched: after its steps end, now and then."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

EVERY_S = 60.0
"""So long the next time comes at the earliest after the last."""

_SHARE = 0.1
"""What part of the time it takes at most: to list the files of a large cache may take minutes."""


class SyncBeside:
    """Keeps a budget in a thread of its own, so that the run is followed meanwhile."""

    def __init__(
        self,
        sync: Callable[[], str | None],
        tell: Callable[[str], None],
        *,
        every_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sync = sync
        self._tell = tell
        self._every_s = every_s
        self._clock = clock
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cache-sync")
        self.under_way: Future[None] | None = None
        self._next_s = clock()
        self._told: str | None = None

    def step_ended(self) -> None:
        """Keep the budget now, unless it is being done or was a moment ago."""
        if self.under_way is not None:
            if not self.under_way.done():
                return
            latest, self.under_way = self.under_way, None
            latest.result()
        if self._clock() >= self._next_s:
            self.under_way = self._threads.submit(self._once)

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _where: object) -> None:
        self._threads.shutdown(wait=True)
        if error is None and self.under_way is not None:
            self.under_way.result()

    def _once(self) -> None:
        began = self._clock()
        told = self._sync()
        ended = self._clock()
        self._next_s = ended + max(self._every_s, (ended - began) / _SHARE)
        if told is not None and told != self._told:
            self._tell(told)
        self._told = told
