"""How long to wait before another try, and how many tries there are."""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that grow, up to a cap, each drawn at random.

    Attributes
    ----------
    first_s
        The first wait is at most so many seconds (> 0).
    factor
        By how much each wait may be longer than the one before (>= 1).
    cap_s
        No wait is longer, in seconds.
    tries
        At most so many retries (>= 1).
    """

    first_s: float
    factor: float
    cap_s: float
    tries: int

    def __post_init__(self) -> None:
        if not (0 < self.first_s <= self.cap_s and self.factor >= 1 and self.tries >= 1):
            raise ValueError(f"{self}: needs 0 < first_s <= cap_s, factor >= 1 and tries >= 1")

    def longest_s(self, attempt: int) -> float:
        """Return the most that a wait takes: `first_s * factor**attempt`, at most `cap_s`.

        Parameters
        ----------
        attempt
            How many retries there have been.
        """
        try:
            return min(self.first_s * self.factor**attempt, self.cap_s)
        except OverflowError:  # after some thousand retries
            return self.cap_s

    def wait_s(self, attempt: int, random: Callable[[], float] = _random.random) -> float:
        """Return the seconds to wait before a retry.

        Parameters
        ----------
        attempt
            How many retries there have been.
        random
            Returns a number in [0, 1).

        Notes
        -----
        Full jitter: uniform in [0, min(cap, first * factor**attempt)). Of many clients that
        compete for one server, it makes the fewest calls, and with equal work it is done the
        soonest but for one variant by which the waits depend on each other.

        References
        ----------
        M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015,
        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/

        Examples
        --------
        >>> busy = Backoff(first_s=5, factor=2, cap_s=60, tries=8)
        >>> [busy.wait_s(attempt, lambda: 0.5) for attempt in range(5)]
        [2.5, 5.0, 10.0, 20.0, 30.0]
        """
        return random() * self.longest_s(attempt)
