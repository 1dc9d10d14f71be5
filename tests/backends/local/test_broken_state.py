"""What happens when the engine cannot write down what happens, or cannot make its files."""

from __future__ import annotations

import errno
import gc
import os
import time
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.place import Place
from couler.errors import StateError
from couler.ir.policies import Retry
from couler.ir.workflow import Workflow
from couler.state.journal import Journal
from couler.state.results import RunResult
from couler.store import ObjectStore
from tests.corpus.build import flow, out, ref, sh

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def run(workflow: Workflow, tmp_path: Path) -> RunResult:
    return LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home", jobs=2))


def retry(tmp_path: Path) -> RunResult:
    return LocalBackend().retry("latest", options=RunOptions(home=tmp_path / "home", jobs=2))


def fail(
    monkeypatch: pytest.MonkeyPatch, at: type, name: str, error: Exception, after: int
) -> None:
    """Have a method raise from the call after so many on."""
    call: Callable[..., t.Any] = getattr(at, name)
    calls = 0

    def replaced(*args: t.Any, **options: t.Any) -> t.Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise error
        return call(*args, **options)

    monkeypatch.setattr(at, name, replaced)


@pytest.mark.parametrize("after", [0, 1, 3, 5, 8])
def test_journal_that_cannot_be_written_is_one_error_and_nothing_starts_after_it(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = tmp_path / "told"
    made = [out("f", "file", "f")]  # kept in a thread, which the end of the loop waits for
    steps = [
        sh(f"s{n}", f"echo {n} >> {told}; echo {n} > f", ref("z"), outputs=made) for n in range(12)
    ]
    steps.append(sh("z", "echo z > f", outputs=made))
    with monkeypatch.context() as patch:
        fail(patch, Journal, "flush", StateError("the disk is full"), after)
        with pytest.raises(StateError, match="the disk is full"):
            run(flow("w", *steps), tmp_path)
    ended = told.read_text(encoding="utf-8") if told.exists() else ""
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
    time.sleep(0.1)
    assert (told.read_text(encoding="utf-8") if told.exists() else "") == ended
    assert retry(tmp_path).status == "succeeded"


def test_folder_of_an_attempt_that_cannot_be_made_fails_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = flow("w", sh("a", "true"), sh("b", "true", retry=Retry(limit=1, on=("error",))))
    with monkeypatch.context() as patch:
        fail(patch, Place, "job", FULL, 0)
        result = run(workflow, tmp_path)
    assert {path: step.status for path, step in result.steps.items()} == {
        "a": "failed",
        "b": "failed",
    }
    assert "No space left on device" in str(result.steps["a"].message)
    assert result.steps["b"].attempts == 2
    assert retry(tmp_path).status == "succeeded"


@pytest.mark.parametrize(
    ("at", "name"), [(Place, "make_folders"), (ObjectStore, "fetch")], ids=["folders", "outputs"]
)
def test_files_of_a_run_that_cannot_be_made_are_an_error_of_the_state(
    at: type, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = flow(
        "w",
        sh("a", "echo 1 > f", outputs=[out("f", "file", "f")]),
        outputs=[out("f", "file", source=ref("a", "f"))],
    )
    with monkeypatch.context() as patch:
        fail(patch, at, name, FULL, 0)
        with pytest.raises(StateError, match="No space left on device"):
            run(workflow, tmp_path)
    result = retry(tmp_path)
    assert Path(result.outputs["f"]).read_text(encoding="utf-8") == "1\n"


def test_lock_of_a_mutex_that_cannot_be_made_is_an_error_of_the_state(tmp_path: Path) -> None:
    workflow = flow("w", sh("a", "true", mutex="m"))
    folder = tmp_path / "home" / "locks"
    folder.parent.mkdir()
    folder.write_text("in the way", encoding="utf-8")
    with pytest.raises(StateError, match='make the lock of the mutex "m": File exists'):
        run(workflow, tmp_path)
    folder.unlink()
    assert retry(tmp_path).status == "succeeded"
