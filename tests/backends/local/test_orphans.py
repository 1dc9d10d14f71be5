"""Whose the processes are that a dead engine may have left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from couler.backends.local.orphans import end_orphans
from tests.support.processes import is_running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def session() -> Iterator[tuple[int, int]]:
    """A session whose leader has ended, and the one process in it."""
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 >&- & echo $!"],
        env={"PATH": os.environ["PATH"]},
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    ) as leader:
        assert leader.stdout is not None
        member = int(leader.stdout.readline())
    yield leader.pid, member
    if is_running(member):
        os.kill(member, signal.SIGKILL)


def test_session_that_has_got_the_number_since_is_left_alone(session: tuple[int, int]) -> None:
    leader, member = session
    assert end_orphans("run-1", {leader: datetime.now(UTC) - timedelta(days=30)}) == 0
    assert is_running(member)
