"""A budget that is kept beside a run: when, and what is told of it."""

from __future__ import annotations

import threading

from couler.control.cache_sync import SyncBeside


class Syncs:
    """Is asked to keep a budget; time passes as tests say."""

    def __init__(self) -> None:
        self.now = 0.0
        self.takes_s = 0.0
        self.says: str | None = None
        self.count = 0
        self.told: list[str] = []

    def sync(self) -> str | None:
        self.count += 1
        self.now += self.takes_s
        return self.says

    def beside(self, **options: float) -> SyncBeside:
        return SyncBeside(self.sync, self.told.append, clock=lambda: self.now, **options)


def end_step(beside: SyncBeside) -> None:
    """Tell that a step has ended, and wait until the sync that this begins is over."""
    beside.step_ended()
    if beside.under_way is not None:
        beside.under_way.exception()


def test_nobody_waits_for_it_but_the_end() -> None:
    goes_on, begun, over = threading.Event(), threading.Event(), []

    def sync() -> None:
        begun.set()
        assert goes_on.wait(60)
        over.append(True)

    with SyncBeside(sync, over.append, every_s=0) as beside:
        beside.step_ended()
        assert begun.wait(60)
        beside.step_ended()
        assert over == []
        goes_on.set()
    assert over == [True]


def test_the_same_is_told_once() -> None:
    syncs = Syncs()
    with syncs.beside(every_s=0) as beside:
        for syncs.says in ("it is away", "it is away", None, "removed 1", "removed 2"):
            end_step(beside)
    assert syncs.told == ["it is away", "removed 1", "removed 2"]
