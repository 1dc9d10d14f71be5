"""One engine a run, until its process ends: however it ends, and whatever its children do."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from couler.errors import RunBusyError, StateError
from couler.state import Owner, own_run, owner_of, shown_status
from tests.state.samples import RUN
from tests.support.waiting import until

OWN = """
import sys, time
from pathlib import Path
from couler.state import own_run
with own_run(Path(sys.argv[1])):
    print("owned", flush=True)
    sys.stdin.read()
"""

# The child inherits what can be: `close_fds=False`. It tells its pid, and outlives its parent.
OWN_WITH_CHILD = """
import subprocess, sys
from pathlib import Path
from couler.state import own_run
with own_run(Path(sys.argv[1])):
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    print(child.pid, flush=True)
    sys.stdin.read()
"""

OWN_WITH_COPY = """
import os, sys, time
from pathlib import Path
from couler.state import own_run
with own_run(Path(sys.argv[1])):
    if (copy := os.fork()) == 0:
        time.sleep(60)
        os._exit(0)
    print(copy, flush=True)
    sys.stdin.read()
"""

COPY_LEAVES = """
import os, sys
from pathlib import Path
from couler.state import own_run
with own_run(Path(sys.argv[1])):
    if copy := os.fork():
        assert os.waitpid(copy, 0)[1] == 0
        print("the copy has left", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "train-1"


@contextmanager
def process(program: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program until it has told one line; end it when the block ends."""
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        try:
            yield started, started.stdout.readline().strip()
        finally:
            started.kill()


def test_a_run_is_owned_while_the_block_lasts(folder: Path) -> None:
    assert owner_of(folder) is None
    with own_run(folder):
        assert owner_of(folder) == Owner(os.getpid(), socket.gethostname())
    assert owner_of(folder) is None
    with own_run(folder):
        pass


def test_a_second_owner_is_told_of_the_first(folder: Path) -> None:
    with process(OWN, folder) as (first, said):
        assert said == "owned"
        assert owner_of(folder) == Owner(first.pid, socket.gethostname())
        with pytest.raises(RunBusyError) as raised, own_run(folder):
            pytest.fail("two owners")
        assert str(first.pid) in str(raised.value)
        assert "couler status train-1" in str(raised.value)
        assert raised.value.exit_code == 4
        assert owner_of(folder) == Owner(first.pid, socket.gethostname())


def test_a_second_owner_in_the_same_process_is_refused(folder: Path) -> None:
    with own_run(folder):
        with pytest.raises(RunBusyError, match=str(os.getpid())), own_run(folder):
            pytest.fail("two owners")
        assert owner_of(folder) is not None


def test_a_killed_owner_frees_the_run(folder: Path) -> None:
    with process(OWN, folder) as (first, _):
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert (folder / "lock").read_text(encoding="utf-8")  # it could not take it back
        assert owner_of(folder) is None
        with own_run(folder):
            assert owner_of(folder) == Owner(os.getpid(), socket.gethostname())


@pytest.mark.parametrize("program", [OWN_WITH_CHILD, OWN_WITH_COPY], ids=["program", "copy"])
def test_children_do_not_inherit(folder: Path, program: str) -> None:
    with process(program, folder) as (first, said):
        child = int(said)
        assert owner_of(folder) == Owner(first.pid, socket.gethostname())
        first.send_signal(signal.SIGKILL)
        first.wait()
        try:
            os.kill(child, 0)  # it goes on
            until(lambda: owner_of(folder) is None)
            with own_run(folder):
                pass
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_copy_that_leaves_the_block_frees_nothing(folder: Path) -> None:
    with process(COPY_LEAVES, folder) as (first, said):
        assert said == "the copy has left"
        assert owner_of(folder) == Owner(first.pid, socket.gethostname())


def test_looking_does_not_get_in_the_way_of_owning(folder: Path) -> None:
    """To look is to share the lock for a moment: an owner waits for that."""
    with own_run(folder):
        pass
    descriptor = os.open(folder / "lock", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    end = threading.Timer(0.1, os.close, [descriptor])
    end.start()
    with own_run(folder):
        assert owner_of(folder) is not None
    end.join()


def test_an_owner_that_has_not_said_who_it_is(folder: Path) -> None:
    folder.mkdir(parents=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert owner_of(folder) == Owner(0, socket.gethostname())
    with pytest.raises(RunBusyError, match="another process works on it"), own_run(folder):
        pytest.fail("two owners")
    os.close(descriptor)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StateError, match=r"run train-1: cannot use its lock .*Make the folder"),
        own_run(tmp_path / "file" / "train-1"),
    ):
        pytest.fail("owned")
    assert owner_of(tmp_path / "file" / "train-1") is None


def test_a_file_system_without_locks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StateError, match=r"has no locks .* Set COULER_HOME"), own_run(folder):
        pytest.fail("owned")


def test_a_dead_engine_leaves_an_interrupted_run(folder: Path) -> None:
    run = replace(RUN, status="running", folder=str(folder), host=socket.gethostname())
    assert shown_status(run) == "interrupted"
    with own_run(folder):
        assert shown_status(run) == "running"
    assert shown_status(run) == "interrupted"


def test_locks_tell_nothing_of_other_runs(folder: Path) -> None:
    here = replace(RUN, status="running", folder=str(folder), host=socket.gethostname())
    assert shown_status(replace(here, status="failed")) == "failed"
    assert shown_status(replace(here, host="another")) == "running"
    assert shown_status(replace(here, folder=None)) == "running"
