"""Fetching and putting files is work of the run: it takes turns, and ends when the run does."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import typing as t
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.artifacts import GitLocation, HttpLocation
from couler.ir.policies import Cache
from couler.ir.serialize import write_json
from couler.ir.storage import SecretKey
from couler.ir.workflow import Input, Output, Step, Workflow
from couler.state.results import RunResult
from tests.corpus.build import flow, on_failure, sh
from tests.support.web_site import Site

Run = t.Callable[..., RunResult]

PATH = os.environ["PATH"]
NEVER_S = 600.0
"""Longer than a test may take: a run that awaits the answer fails it."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run_workflow(
        workflow: Workflow, environ: Mapping[str, str] | None = None, jobs: int = 2
    ) -> RunResult:
        return LocalBackend().run(
            workflow,
            options=RunOptions(home=tmp_path / "home", jobs=jobs),
            environ={"PATH": PATH, **(environ or {})},
        )

    return run_workflow


def gets(site: Site, **fields: t.Any) -> Step:
    given = Input(name="data", type="file", at=HttpLocation(url=f"{site.url}/a"))
    return sh("read", 'cat "$COULER_INPUT_data"', inputs=[given], **fields)


def puts(site: Site, **fields: t.Any) -> Step:
    place = HttpLocation(url=f"{site.url}/m")
    output = Output(name="m", type="file", path="m", at=place)
    return sh("make", 'echo good > "$COULER_WORK/m"', outputs=[output], cache=Cache(), **fields)


def test_a_hit_is_one_when_its_files_have_been_put(run: Run, site: Site, tmp_path: Path) -> None:
    assert run(flow("w", puts(site))).steps["make"].status == "succeeded"
    site.put_code = 500
    ended = run(flow("w", puts(site)))
    assert ended.steps["make"].status == "failed"  # it ran, and could not put it either
    query = "SELECT decision, reason FROM cache_decisions WHERE run_id = ?"
    with contextlib.closing(sqlite3.connect(tmp_path / "home" / "couler.db")) as database:
        [(decision, reason)] = database.execute(query, [ended.run_id])
    assert decision == "miss"
    assert "cannot be put where the step keeps them: PUT" in reason


def test_the_time_limit_of_the_run_ends_the_putting_of_cached_files(run: Run, site: Site) -> None:
    assert run(flow("w", puts(site))).status == "succeeded"
    site.wait_s = NEVER_S
    ended = run(flow("w", puts(site), timeout_s=0.5))
    assert (ended.status, ended.steps["make"].status) == ("failed", "omitted")


def test_the_time_limit_of_a_step_holds_before_it_is_known_whether_it_runs(
    run: Run, site: Site
) -> None:
    site.wait_s = NEVER_S
    ended = run(flow("w", gets(site, cache=Cache(), timeout_s=0.3)))
    step = ended.steps["read"]
    assert (step.status, step.attempts) == ("failed", 1)
    assert "time limit" in str(step.message)


@pytest.mark.parametrize(("cache", "status"), [(None, "cancelled"), (Cache(), "omitted")])
def test_an_interrupt_ends_the_fetching(
    run: Run, site: Site, cache: Cache | None, status: str
) -> None:
    """A step of which nothing but its cache has been looked for has not started."""
    site.wait_s = NEVER_S

    def interrupt() -> None:
        while not site.asked:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    ended = run(flow("w", gets(site, cache=cache)))
    thread.join()
    assert (ended.status, ended.steps["read"].status) == ("cancelled", status)
    assert ended.steps["read"].message == "the run was cancelled"


# Git ----------------------------------------------------------------------------------------------

PASSWORD = "hunter2222"
SECRETS = {"COULER_SECRET_code_user": "ada", "COULER_SECRET_code_password": PASSWORD}
CODE = GitLocation(
    repository="https://example.org/code",
    user=SecretKey(secret="code", key="user"),
    password=SecretKey(secret="code", key="password"),
)


@pytest.fixture
def slow_git(tmp_path: Path) -> Callable[[], dict[str, str]]:
    """Make a Git that does not end, and return the environment of a run with it."""

    def make() -> dict[str, str]:
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text(
            f'#!/bin/sh\ndirname "$GIT_ASKPASS" > {tmp_path}/asked\nsleep {_mark()} & wait\n'
        )
        program.chmod(0o755)
        return {"PATH": f"{program.parent}:{PATH}", **SECRETS}

    return make


def _mark() -> str:
    return f"300.{os.getpid()}"


def _still_runs() -> bool:
    found = subprocess.run(["pgrep", "-f", f"^sleep {_mark()}$"], capture_output=True, check=False)
    return found.stdout != b""


def clones(**fields: t.Any) -> Step:
    given = Input(name="code", type="directory", at=CODE)
    return sh("read", "true", inputs=[given], **fields)


def test_git_ends_with_the_time_limit_of_its_step(
    run: Run, slow_git: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    look = f"sleep 0.5; pgrep -f '^sleep {_mark()}$' || echo none"
    then = sh("then", look, depends_on=[on_failure("read")])
    ended = run(flow("w", clones(timeout_s=0.5), then), slow_git())
    assert ended.steps["read"].message == "it did not end within its time limit"
    assert ended.steps["then"].outputs["result"] == "none"
    private = Path((tmp_path / "asked").read_text().strip())
    assert private.is_relative_to(tmp_path / "home" / "runs")
    assert not private.exists()


@pytest.mark.slow
def test_what_a_killed_engine_left_on_its_way_is_removed(
    slow_git: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    file, home = tmp_path / "w.json", tmp_path / "home"
    file.write_text(write_json(flow("w", clones())))
    environ = {**os.environ, **slow_git()}

    def couler(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "couler.cli", *words, "--home", str(home)]
        return subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)

    engine = couler("run", str(file))
    while not (tmp_path / "asked").exists() or not _still_runs():
        assert engine.poll() is None
        time.sleep(0.02)
    engine.kill()
    engine.wait()
    private = Path((tmp_path / "asked").read_text().strip())
    assert (private / "password").read_text() == PASSWORD
    assert (private.stat().st_mode & 0o777, (private / "password").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    assert _still_runs()
    assert couler("cancel", "latest").wait() == 0
    assert not private.exists()
    assert not _still_runs()
