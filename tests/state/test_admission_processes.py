"""Processes that decide at once what the cache keeps stay within the budget together."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.state import Database, RunRecord
from couler.state.ledger import read_ledger

ROOT = Path(__file__).parents[2]

ADMITTING = """
import sys

url, name, tests = sys.argv[1:]
sys.path.append(tests)

from couler.budget.judging import Budget, Judge
from couler.state import open_database
from couler.state.admission import settle_offer
from tests.state.test_admission import offer

judge = Judge(Budget.choose("lru", 55))
with open_database(url) as database:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(10):
        made = offer(f"{name}{number:063}", run_id=name, path=f"fit[{number}]")
        settled = settle_offer(database, made, judge.settle)
        assert settled.decision.decision == "stored", settled
"""


@pytest.mark.slow
def test_two_processes_that_admit_at_once_keep_to_the_budget(
    url: str, database: Database, add_run: Callable[..., RunRecord]
) -> None:
    started = []
    for name in ("a", "b"):
        add_run(name)
        command = [sys.executable, "-c", ADMITTING, url, name, str(ROOT)]
        started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.communicate()
        assert process.returncode == 0
    with database.read() as connection:
        ledger = read_ledger(connection)
        assert ledger.clock == 20
        assert ledger.used_bytes() == 50
        assert sorted(kept.used for kept in ledger.entries) == [16, 17, 18, 19, 20]
