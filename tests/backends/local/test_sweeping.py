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

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend, sweeping
from couler.backends.local.orphans import end_attempts
from couler.backends.local.sweeping import Sweeper
from couler.errors import StateError
from tests.corpus.build import flow, sh

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[set[Path]]:
    """What was looked for, at each look, which takes some time."""
    looked: list[set[Path]] = []

    def end(works: Collection[Path]) -> int:
        looked.append(set(works))
        time.sleep(0.3)
        return end_attempts(works)

    monkeypatch.setattr(sweeping, "end_attempts", end)
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


def test_all_who_ask_are_told_what_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(works: Collection[Path]) -> int:
        raise StateError("it does not end")

    monkeypatch.setattr(sweeping, "end_attempts", fail)

    async def end_all() -> list[object]:
        sweeper = Sweeper()
        asked = [sweeper.end([Path("a")]), sweeper.end([Path("b")])]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    assert [str(error) for error in asyncio.run(end_all())] == ["it does not end"] * 2


def test_what_began_before_the_engine_is_not_of_its_attempts(tmp_path: Path) -> None:
    assert end_attempts([tmp_path]) == 0
    with subprocess.Popen(["sleep", "60"], env={"COULER_WORK": str(tmp_path)}) as later:
        environment = Path(f"/proc/{later.pid}/environ")
        while not environment.read_bytes():  # the system fills it in after the program began
            time.sleep(0.01)
        assert end_attempts([tmp_path]) == 1
    assert later.returncode == -9


def test_many_steps_that_fail_at_once_need_few_looks(
    looks: list[set[Path]], tmp_path: Path
) -> None:
    steps = [sh(f"s{number}", "sleep 0.2; exit 1") for number in range(12)]
    options = RunOptions(home=tmp_path, jobs=12)
    assert LocalBackend().run(flow("w", *steps), options=options).status == "failed"
    assert sum(map(len, looks)) == 12
    assert len(looks) <= 8
