"""How long to wait before a call is made again, and when to give up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Patience:
    """Exponential waits with full jitter, as long as they take less than a limit together."""

    first_s: float = 0.5
    cap_s: float = 15.0
    total_s: float = 60.0

    @classmethod
    def of_calls(cls, away_s: float) -> Patience:
        """Return the patience of a single call, where a server may be away for so many seconds."""
        usual = cls()
        return replace(usual, total_s=min(away_s, usual.total_s))

    def begin(self) -> Waits:
        """Return the waits of one call."""
        return Waits(self)


class Waits:
    """The waits of a call that is made again and again."""

    def __init__(
        self,
        patience: Patience,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._patience = patience
        self._clock, self._sleep, self._draw = clock, sleep, draw
        self._begun = clock()
        self.count = 0

    @property
    def left_s(self) -> float:
        """How long may still be waited, in seconds."""
        return self._patience.total_s - (self._clock() - self._begun)

    def wait(self, asked_s: float | None = None) -> bool:
        """Wait before the call is made again; return whether it may be."""
        left = self.left_s
        bound = min(self._patience.cap_s, self._patience.first_s * 2.0 ** min(self.count, 60))
        wait = self._draw() * bound if asked_s is None else asked_s
        if wait > left or left <= 0:
            return False
        self.count += 1
        self._sleep(wait)
        return True
