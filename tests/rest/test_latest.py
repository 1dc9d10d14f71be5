"""What was asked last is shared by those who ask soon after."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from couler.rest.latest import Latest


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Asked:
    """Counts how often something was asked for."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _last: int | None) -> int:
        self.count += 1
        return self.count


def test_what_lasts_is_kept_until_something_is_done() -> None:
    clock, ask = Clock(), Asked()
    latest = Latest(2.0, lasts=lambda _: True, clock=clock)
    latest.note("a", 7)
    clock.now = 100.0
    assert latest.of("a", ask) == 7
    with pytest.raises(KeyError), latest.changing():
        raise KeyError
    assert latest.of("a", ask) == 1


def test_what_cannot_be_asked_leaves_what_was_kept() -> None:
    clock = Clock()
    latest = Latest(2.0, lasts=lambda _: False, clock=clock)
    latest.note("a", 7)
    clock.now = 3.0

    def fail(_last: int | None) -> int:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        latest.of("a", fail)
    assert latest.of("a", lambda last: (last or 0) + 1) == 8


def test_many_who_ask_at_once_ask_once() -> None:
    latest: Latest[int] = Latest(60.0, lasts=lambda _: False)
    everyone, ask = threading.Barrier(8), Asked()

    def one(_number: int) -> int:
        everyone.wait(timeout=60)
        return latest.of("a", ask)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one, range(8))) == [1] * 8
    assert ask.count == 1
