"""Steps that wait for a person, and `couler resume`, which another process calls."""

from __future__ import annotations

import asyncio
import typing as t
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from couler.backends.local.limits import Limits

POLL_S = 0.3
"""How often is looked for a resume while a step waits for one."""

Entered: t.TypeAlias = Mapping[str, str]
"""What a person enters for the outputs of a step that waits: texts by name."""

EVERY = ""
"""In the place of a path: all that waits."""


@dataclass(slots=True)
class Doorbell:
    """Lets steps wait until somebody resumes them."""

    take: Callable[[], Iterable[tuple[str, Entered]]]
    _waiting: dict[str, asyncio.Event] = field(default_factory=dict)
    _entered: dict[str, Entered] = field(default_factory=dict)
    _timer: asyncio.TimerHandle | None = None

    async def wait(self, path: str, limits: Limits) -> Entered:
        """Wait until a path is resumed, or the limits end; return what was entered."""
        rung = self._waiting[path] = asyncio.Event()
        forget = limits.on_end(rung.set)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(POLL_S, self._look)
        try:
            await rung.wait()
        finally:
            forget()
            del self._waiting[path]
        return self._entered.pop(path, {})

    def _look(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        for path, entered in self.take():
            for waiting, rung in self._waiting.items():
                if path in (EVERY, waiting):
                    self._entered[waiting] = entered
                    rung.set()
        self._timer = asyncio.get_running_loop().call_later(POLL_S, self._look)
