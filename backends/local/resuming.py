"""Steps that wait for a person, and `couler resume`, which another process calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from couler.backends.local.limits import Limits

POLL_S = 0.3
"""How often is looked for a resume while a step waits for one."""

EVERY = ""
"""In the place of a path: all that waits."""


@dataclass(slots=True)
class Doorbell:
    """Lets steps wait until somebody resumes them.

    Parameters
    ----------
    take
        Gives the paths that have been resumed since the last call, `EVERY` for all that wait.
    """

    take: Callable[[], Iterable[str]]
    _waiting: dict[str, asyncio.Event] = field(default_factory=dict)
    _timer: asyncio.TimerHandle | None = None

    async def wait(self, path: str, limits: Limits) -> None:
        """Wait until a path is resumed, or the limits end."""
        rung = self._waiting[path] = asyncio.Event()
        forget = limits.on_end(rung.set)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(POLL_S, self._look)
        try:
            await rung.wait()
        finally:
            forget()
            del self._waiting[path]

    def _look(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        for path in self.take():
            for waiting, rung in self._waiting.items():
                if path in (EVERY, waiting):
                    rung.set()
        self._timer = asyncio.get_running_loop().call_later(POLL_S, self._look)
