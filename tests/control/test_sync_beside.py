"""A budget that is kept beside a run: when, and what is told of it."""

from __future__ import annotations

import threading

from couler.control.cache_sync import SyncBeside


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
