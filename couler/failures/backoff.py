"""How long to wait before another try, and how many tries there are."""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that grow, up to a cap, each drawn at random."""

    first_s: int | float
    factor: int | float
    cap_s: int | float
    tries: int

    def __post_init__(self) -> None:
        if not (0 < self.first_s <= self.cap_s and self.factor >= 1 and self.tries >= 1):
            raise ValueError(f"{self}: needs 0 < first_s <= cap_s, factor >= 1 and tries >= 1")

    def longest_s(self, attempt: int) -> float:
        """Return the most that a wait takes: `first_s * factor**attempt`, at most `cap_s`."""
        try:
            return min(self.first_s * self.factor**attempt, self.cap_s)
        except OverflowError:  # after some thousand retries
            return self.cap_s

    def wait_s(self, attempt: int, random: Callable[[], float] = _random.random) -> float:
        """Return the seconds to wait before a retry."""
        # M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015,
        # https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        return random() * self.longest_s(attempt)
