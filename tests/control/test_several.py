"""Several processes have to do with one run, on this machine or others: none undoes another's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from couler.backends.remote import Observation
from couler.control import marks, restarting, watching
from couler.control.ending import cancel
from couler.control.following import _followed, follow, refresh
from couler.control.restarting import prepare, restart
from couler.control.submission import submit
from couler.control.watching import Watch, watch
from couler.errors import (
    ConfigurationError,
    LostRunError,
    RefusedError,
    RunBusyError,
)
from couler.failures import MAX_RETRIES
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.ownership import own_run
from couler.state.records import RunRecord
from tests.control.conftest import ToldRemote, order
from tests.control.test_following import many_failed, step
from tests.control.test_restarting import BROKEN, WELL
from tests.control.test_submission import recorded

NOT_ENDED = RefusedError("told: the run has not ended")


retrying = partial(Watch, MAX_RETRIES, random=lambda: 0.5)
"""Watches that retry; waits for retries are half of what they may be at most."""


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is told what to say compiles nothing."""
    monkeypatch.setattr(restarting, "_compile", lambda *_: order().artifact)


@pytest.fixture
def failed(remote: ToldRemote, database: Database, home: Home) -> RunRecord:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN]
    return follow(run, database, home, {})


def take_up(database: Database, home: Home) -> RunRecord:
    run = recorded(database)
    return restart(run, prepare(run, database), database, home, {})


def test_a_restart_that_was_planned_before_another_does_nothing(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    prepared = prepare(failed, database)
    other = take_up(database, home)
    remote.faults = [NOT_ENDED]
    with pytest.raises(RunBusyError, match=r"goes on; `couler cancel"):
        restart(failed, prepared, database, home, {})
    assert recorded(database) == other
    assert len(remote.restarted) == 1


class Meanwhile(ToldRemote):
    """Lets something happen elsewhere before it answers."""

    def __init__(self, happens: Callable[[], object], *faults: Exception) -> None:
        super().__init__(faults=list(faults))
        self.happens = happens

    def _asked(self, verb: str) -> None:
        self.happens()
        super()._asked(verb)


def test_a_refused_restart_restores_nothing_over_that_of_another_machine(
    failed: RunRecord,
    remote: ToldRemote,
    database: Database,
    home: Home,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = Home(tmp_path / "there")  # with locks of its own, and the same database

    def happens() -> None:
        monkeypatch.setattr(restarting, "connect", lambda *_: remote)
        remote.observations = [BROKEN]  # the engine has not begun with the first restart
        refresh(recorded(database), database, there, {})
        take_up(database, there)

    monkeypatch.setattr(restarting, "connect", lambda *_: Meanwhile(happens, NOT_ENDED))
    with pytest.raises(RefusedError):
        restart(failed, prepare(failed, database), database, home, {})
    after = recorded(database)
    assert (after.status, after.place) == ("running", {"name": failed.id, "restarts": 1})
    ends = [session.status for session in runs.sessions_of(database, failed.id)]
    assert ends == ["failed", "refused", "running"]


def test_who_follows_on_another_machine_writes_no_old_end(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home, tmp_path: Path
) -> None:
    there = Home(tmp_path / "there")
    with _followed(failed, database, there, {}) as followed:
        take_up(database, home)
        with pytest.raises(RunBusyError, match=r"another process has gone on with it"):
            followed.record(replace(WELL, status="succeeded"))
    assert recorded(database).status == "running"


def test_a_run_that_waits_for_a_retry_can_be_cancelled(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN]
    notes: list[str] = []
    seen: list[RunRecord] = []

    def sleep(_: float) -> None:
        seen.append(recorded(database))
        cancel(seen[0], database, home, {})

    how = retrying(on_note=notes.append, sleep=sleep)
    ended = watch(run, database, home, {}, how)
    assert marks.is_waiting(seen[0])
    assert "it is taken up again at" in (seen[0].message or "")
    assert (ended.status, ended.place) == ("cancelled", {"name": run.id})
    assert ended.message == "it had failed, and was cancelled before it was taken up again"
    assert notes[1:] == [f"{run.id} was cancelled before it was taken up again"]
    assert remote.restarted == []
    assert "cancel" not in remote.asked
    remote.observations = [WELL]
    again = take_up(database, home)
    assert follow(again, database, home, {}).status == "succeeded"


def test_what_is_told_of_logs_stays_after_a_wait(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [replace(many_failed(21), message="a step failed")]
    how = retrying(sleep=lambda _: None)
    ended = watch(run, database, home, {}, how)
    assert (ended.status, ended.place) == ("failed", {"name": run.id})
    assert (ended.message or "").startswith("a step failed; the logs of 1 of 21 failed steps are")


def test_a_long_wait_ends_soon_after_it_was_cancelled(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    limited = "toomanyrequests: You have reached your unauthenticated pull rate limit"
    remote.observations = [Observation("failed", (step("fit", "failed", message=limited),))]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            cancel(recorded(database), database, home, {})

    how = retrying(sleep=sleep)
    assert watch(run, database, home, {}, how).status == "cancelled"
    assert slept == [3.0, 3.0]


def test_who_is_refused_the_run_does_not_take_back_that_another_waits(
    remote: ToldRemote, database: Database, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN, WELL]
    seen: list[bool] = []

    def logs(*_: object, **__: object) -> Iterator[str]:
        with monkeypatch.context() as patched:
            patched.setattr(os, "getpid", lambda: 1)  # another process
            with pytest.raises(RunBusyError):
                watch(run, database, home, {}, retrying())
        seen.append(marks.is_waiting(recorded(database)))
        yield "a line"

    monkeypatch.setattr(remote, "logs", logs)
    watch(run, database, home, {}, retrying(sleep=lambda _: None))
    assert seen == [True]


def test_who_watches_goes_on_with_what_another_has_taken_up(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN, WELL]
    notes: list[str] = []

    def sleep(_: float) -> None:
        take_up(database, home)
        remote.faults = [None, NOT_ENDED]

    how = retrying(on_note=notes.append, sleep=sleep)
    assert watch(run, database, home, {}, how).status == "succeeded"
    assert notes[1:] == [f"another process has taken {run.id} up meanwhile"]
    assert len(remote.restarted) == 1


def test_a_retry_waits_for_who_looks_at_the_run_just_then(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN, WELL]
    lock = own_run(home.run_folder(run.id))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            lock.__enter__()
        if len(slept) == 3:
            lock.__exit__(None, None, None)

    assert watch(run, database, home, {}, retrying(sleep=sleep)).status == "succeeded"
    assert len(slept) == 3


def test_a_retry_that_others_hold_up_is_not_dropped_without_a_word(
    remote: ToldRemote, database: Database, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_TRIES", 2)
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN]
    notes: list[str] = []
    lock = own_run(home.run_folder(run.id))

    def sleep(_: float) -> None:
        if not notes[1:] and not marked:
            marked.append(True)
            lock.__enter__()

    marked: list[bool] = []
    how = retrying(on_note=notes.append, sleep=sleep)
    ended = watch(run, database, home, {}, how)
    lock.__exit__(None, None, None)
    assert ended.status == "failed"
    assert notes[1].startswith(f"{run.id} was not taken up again: run {run.id}: process ")


@pytest.mark.parametrize("error", [RefusedError, LostRunError, ConfigurationError])
def test_a_retry_that_cannot_be_leaves_the_result(
    error: type[Exception], remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [replace(BROKEN, message="a step failed")]
    remote.faults = [None, None, error("told: no")]
    notes: list[str] = []
    how = retrying(on_note=notes.append, sleep=lambda _: None)
    ended = watch(run, database, home, {}, how)
    assert (ended.status, ended.message, ended.place) == (
        "failed",
        "a step failed",
        {"name": run.id},
    )
    assert notes[1:] == [f"{run.id} was not taken up again: told: no"]
    assert {one.path: one.status for one in runs.steps_of(database, run.id)} == {
        "fit": "succeeded",
        "tell": "failed",
    }


def test_a_run_that_is_lost_is_not_taken_up(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [Observation("running", BROKEN.steps)]
    refresh(run, database, home, {})
    remote.faults = [LostRunError("told: it has no such run")]
    how = retrying(sleep=lambda _: None)
    assert watch(recorded(database), database, home, {}, how).status == "failed"
    assert remote.restarted == []
