"""Running coroutines from where an event loop may be running already."""

from __future__ import annotations

import asyncio
import typing as t
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor

T = t.TypeVar("T")


def run_coroutine(
    make: Callable[[], Coroutine[t.Any, t.Any, T]], interrupt: Callable[[], object]
) -> T:
    """Run a coroutine to its end, also where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    with ThreadPoolExecutor(1, "couler-run") as threads:
        running = threads.submit(lambda: asyncio.run(make()))
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:
                if running.done():
                    raise
                interrupt()
