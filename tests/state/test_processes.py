"""Several processes at one database, and processes that are killed while they write."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from couler.state import (
    Database,
    RunRecord,
    attempts_of,
    begin_session,
    list_runs,
    open_database,
    steps_of,
)
from tests.state.samples import NOON

# Tells each step of which it was told that it is on the disk.
FLUSHES = """
import sys
from datetime import UTC, datetime
from couler.state import Journal, StepRecord, open_database
url, run_id, session, first, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
database = open_database(url)
with Journal(database, run_id, session) as journal:
    for number in range(first, first + count):
        now, path = datetime.now(UTC), f"s{number}"
        journal.attempt_started(path, 1, started=now)
        journal.attempt_ended(path, 1, status="succeeded", finished=now)
        journal.step_ended(StepRecord(path, path, "succeeded", now, session, number))
        journal.flush()
        print(number, flush=True)
"""

OPENS = """
import sys
from couler.state import list_runs, open_database
sys.stdin.read(1)
with open_database(sys.argv[1]) as database:
    assert list_runs(database) == []
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(
    url: str, database: Database, add_run: Callable[..., RunRecord]
) -> None:
    count = 60
    writers = []
    for run_id in ("r1", "r2"):
        add_run(run_id)
        session = begin_session(database, run_id, pid=1, host="h", started=NOON)
        writers.append(start(FLUSHES, url, run_id, session, 0, count))
    while any(writer.poll() is None for writer in writers):
        list_runs(database)
    assert [writer.communicate()[0].count("\n") for writer in writers] == [count, count]
    assert [writer.returncode for writer in writers] == [0, 0]
    for run_id in ("r1", "r2"):
        assert [step.ordinal for step in steps_of(database, run_id)] == list(range(count))


@pytest.mark.slow
def test_processes_that_open_a_new_database_at_once(url: str) -> None:
    openers = [start(OPENS, url) for _ in range(4)]
    time.sleep(0.5)  # all have started, and wait for a letter
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("x")
        opener.stdin.flush()
    for opener in openers:
        opener.communicate()
    assert [opener.returncode for opener in openers] == [0] * len(openers)


def test_what_was_flushed_survives_a_kill(url: str, database: Database, session: int) -> None:
    chance = random.Random(1)
    told = -1
    for _ in range(3):
        writer = start(FLUSHES, url, "r1", session, told + 1, 100_000)
        assert writer.stdout is not None
        assert writer.stdout.readline() == f"{told + 1}\n"
        time.sleep(chance.random() * 0.1)
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.communicate()[0].splitlines()
        told = int(rest[-1]) if rest else told + 1
        steps = steps_of(database, "r1")
        attempts = attempts_of(database, "r1")
        # The last flush may be on the disk though nobody was told.
        assert [step.ordinal for step in steps[: told + 1]] == list(range(told + 1))
        assert len(steps) - (told + 1) in (0, 1)
        assert {attempt.path for attempt in attempts} == {step.path for step in steps}
        assert {attempt.status for attempt in attempts} == {"succeeded"}
        told = len(steps) - 1
    with open_database(url) as again:
        assert len(steps_of(again, "r1")) == told + 1
