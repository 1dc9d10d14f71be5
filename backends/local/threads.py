"""Work in threads, and coroutines where an event loop may be running already."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import typing as t
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor

from couler.backends.local.limits import Limits
from couler.locations.stop import CutOffError, Stop

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


async def in_thread(work: Callable[[Stop], T], limits: Limits) -> T:
    """Do work in a thread of its own and return what it gives."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    stop = Stop()

    def tell(give: Callable[[], None]) -> None:
        if not done.done():
            give()

    def run() -> None:
        try:
            result = work(stop)
        except BaseException as error:  # noqa: BLE001  # handed on to the one who waits
            failure = error
            give = lambda: done.set_exception(failure)  # noqa: E731
        else:
            give = lambda: done.set_result(result)  # noqa: E731
        with contextlib.suppress(RuntimeError):  # the run has ended meanwhile, and the loop with it
            loop.call_soon_threadsafe(tell, give)

    forget = limits.on_end(lambda: tell(lambda: done.set_exception(CutOffError())))
    if not done.done():
        threading.Thread(target=run, daemon=True).start()
    try:
        return await done
    finally:
        forget()
        stop.set()
