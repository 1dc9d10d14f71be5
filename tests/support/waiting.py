"""Waiting for what happens."""

from __future__ import annotations

import time
from collections.abc import Callable

from couler.rest.patience import Patience

IMPATIENT = Patience(first_s=0.0, cap_s=0.0, total_s=0.0)
"""Gives up at once."""

LIMIT_S = 900.0
"""Only against what hangs: machines stand still for minutes."""


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    limit = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < limit, "it does not come"
        time.sleep(0.02)
