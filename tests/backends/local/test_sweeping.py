"""Attempts that end together are looked after together."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from couler.backends.local import place
from couler.backends.local.orphans import end_attempts
from couler.backends.local.place import Sweeper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[set[Path]]:
    """What was looked for, at each look, which takes some time."""
    looked: list[set[Path]] = []

    def end(works: Collection[Path]) -> int:
        looked.append(set(works))
        time.sleep(0.3)
        return end_attempts(works)

    monkeypatch.setattr(place, "end_attempts", end)
    return looked


def test_one_look_serves_all_who_ask_meanwhile(looks: list[set[Path]], tmp_path: Path) -> None:
    works = [tmp_path / str(number) for number in range(20)]
    left = [
        subprocess.Popen(["sleep", "60"], env={**os.environ, "COULER_WORK": str(work)})
        for work in works
    ]

    async def end_all() -> None:
        sweeper = Sweeper()
        first = asyncio.create_task(sweeper.end(works[:1]))
        await asyncio.sleep(0.02)
        await asyncio.gather(first, *(sweeper.end([work]) for work in works[1:]))
        assert [one.wait(timeout=5) for one in left] == [-9] * 20

    asyncio.run(end_all())
    assert looks == [{works[0]}, set(works[1:])]
