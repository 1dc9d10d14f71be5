"""Runs that are resumed and cancelled by another process than the one that works on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.errors import RunNotFoundError
from couler.ir.policies import Foreach
from couler.ir.serialize import write_json
from couler.ir.values import Literal
from couler.ir.workflow import Container, Step, Suspend, Workflow
from couler.state import (
    Home,
    attempts_of,
    find_run,
    open_database,
    owner_of,
    send_signal,
    sessions_of,
    shown_status,
    steps_of,
)
from tests.corpus.build import given, item
from tests.support.cut_off import ENDS, RUNNING, cut_off
from tests.support.processes import is_running

PROGRAM = """
import sys
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.serialize import read_json

def tell(event):
    if event.kind in ("started", "suspended"):
        print(event.kind, event.path, event.run, event.attempt, flush=True)

workflow = read_json(sys.argv[1])
options = RunOptions(home=Path(sys.argv[2]), jobs=8)
result = LocalBackend().run(workflow, options=options, on_event=tell)
print("ended", result.status, {path: step.status for path, step in result.steps.items()})
"""


def sh(name: str, script: str, *after: str) -> Step:
    action = Container(image="busybox", command=("sh", "-c", script))
    return Step(name=name, action=action, depends_on=after)


def wait_for(holds: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start an engine that runs a workflow of some steps."""
    started: list[subprocess.Popen[str]] = []

    def begin(*steps: Step, **fields: t.Any) -> subprocess.Popen[str]:
        workflow = write_json(Workflow(name="w", steps=steps, **fields))
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, workflow, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def test_a_step_that_waits_for_a_person(start: Callable, tmp_path: Path) -> None:
    ask = Step(name="ask", action=Suspend(message="Go on?"))
    process = start(ask, sh("after", "true", "ask"))
    assert line(process)[:2] == ["started", "ask"]
    kind, path, run, attempt = line(process)
    assert (kind, path, attempt) == ("suspended", "ask", "1")
    with open_database(Home(tmp_path).database_url) as database:
        wait_for(lambda: attempts_of(database, run))  # others see that it waits
        assert steps_of(database, run) == []
        send_signal(database, run, "other", "resume")
        send_signal(database, run, "ask", "resume")
    out, _ = process.communicate(timeout=20)
    assert "ended succeeded {'ask': 'succeeded', 'after': 'succeeded'}" in out


def test_cancel_a_run_that_goes_on(start: Callable, tmp_path: Path) -> None:
    process = start(sh("nap", "sleep 60"))
    run = line(process)[2]
    backend, options = LocalBackend(), RunOptions(home=tmp_path)
    assert backend.cancel(run, options=options) == "cancelled"
    assert backend.cancel("latest", options=options) == "cancelled"
    out, _ = process.communicate(timeout=20)
    assert out.startswith("ended cancelled")
    with pytest.raises(RunNotFoundError):
        backend.cancel("nope", options=options)


def test_what_a_cancel_ends_is_cancelled(start: Callable, tmp_path: Path) -> None:
    workflow = cut_off("w", "sleep 600")
    process = start(*workflow.steps, exit_handlers=workflow.exit_handlers)
    begun, run = set[str](), ""
    while not begun.issuperset({*RUNNING, "bad"}):
        _, path, run, _ = line(process)
        begun.add(path)
    with open_database(Home(tmp_path).database_url) as database:
        wait_for(lambda: {"behind"} <= {step.path for step in steps_of(database, run)})
        assert LocalBackend().cancel(run, options=RunOptions(home=tmp_path)) == "cancelled"
        ended = {step.path: step for step in steps_of(database, run)}
    assert {path: step.status for path, step in ended.items()} == ENDS
    told = "the run was cancelled"
    assert {step.message for step in ended.values() if step.status == "cancelled"} == {told}
    assert ended["behind"].message == "it needs the success of bad, which failed"


def test_items_that_never_started_are_not_counted_as_failed(
    start: Callable, tmp_path: Path
) -> None:
    script = "test $COULER_INPUT_n != 0 && sleep 600"
    each = Step(
        name="each",
        action=Container(image="busybox", command=("sh", "-c", script)),
        inputs=(given("n", item("n")),),
        foreach=Foreach(over={"n": Literal(value=[0, 1, 2, 3])}, max_parallel=1),
    )
    process = start(each)
    path = run = ""
    while path != "each[1]":
        _, path, run, _ = line(process)
    assert LocalBackend().cancel(run, options=RunOptions(home=tmp_path)) == "cancelled"
    with open_database(Home(tmp_path).database_url) as database:
        ended = {step.path: step for step in steps_of(database, run)}
    assert {path: step.status for path, step in ended.items()} == {
        "each": "cancelled",
        "each[0]": "failed",
        "each[1]": "cancelled",
        "each[2]": "omitted",
        "each[3]": "omitted",
    }
    assert ended["each"].message == "1 of 4 items failed: 0; the run was cancelled"


def test_cancel_a_run_whose_engine_was_killed(start: Callable, tmp_path: Path) -> None:
    left = tmp_path / "pid"
    process = start(sh("nap", f"echo $$ > {left}.new; mv {left}.new {left}; exec sleep 60"))
    run = line(process)[2]
    wait_for(left.exists)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    home = Home(tmp_path)
    wait_for(lambda: owner_of(home.run_folder(run)) is None)
    with open_database(home.database_url) as database:
        assert shown_status(find_run(database, run)) == "interrupted"
        assert LocalBackend().cancel(run, options=RunOptions(home=tmp_path)) == "cancelled"
        found = find_run(database, run)
        assert (found.status, found.message) == ("cancelled", "the run was cancelled")
        assert [one.status for one in attempts_of(database, run)] == ["interrupted"]
        assert [one.status for one in sessions_of(database, run)] == ["interrupted"]
    assert not is_running(int(left.read_text()))
