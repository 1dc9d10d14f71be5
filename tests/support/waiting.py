"""Waiting for what happens."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT_S = 900.0
"""Only against what hangs: machines stand still for minutes."""


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    limit = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < limit, "it does not come"
        time.sleep(0.02)
