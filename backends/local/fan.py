"""Starting many things, so many at a time, and waiting until all have ended."""

from __future__ import annotations

import asyncio
import typing as t
from collections.abc import Callable, Sequence

T = t.TypeVar("T")
R = t.TypeVar("R")


async def run_all(
    things: Sequence[T],
    start: Callable[[int, T, Callable[[R], None]], None],
    *,
    width: int | None = None,
) -> list[R]:
    """Start things in order and return how each ended, in the same order."""
    if not things:
        return []
    ends: dict[int, R] = {}
    finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting = iter(enumerate(things))
    under_way = 0
    is_starting = False

    def take_end(index: int, end: R) -> None:
        nonlocal under_way
        ends[index] = end
        under_way -= 1
        if len(ends) == len(things):
            finished.set_result(None)
        else:
            start_more()

    def start_more() -> None:
        nonlocal under_way, is_starting
        if is_starting:  # an end came at once: the loop below goes on
            return
        is_starting = True
        while width is None or under_way < width:
            following = next(waiting, None)
            if following is None:
                break
            under_way += 1
            index, thing = following
            start(index, thing, lambda end, index=index: take_end(index, end))  # type: ignore[misc]  # a default binds it
        is_starting = False

    start_more()
    await finished
    return [ends[index] for index in range(len(things))]
