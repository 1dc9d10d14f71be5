"""Other containers of a step's pod, when the engine or what ends processes fails."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend, place
from couler.errors import StateError
from couler.ir.pods import PodContainer
from couler.ir.policies import Mutex
from couler.ir.serialize import write_json
from couler.ir.workflow import Workflow
from tests.corpus.build import SHELL_IMAGE, flow, sh

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


_NUMBERS = itertools.count()


@pytest.fixture
def mark() -> str:
    """Seconds that no other process sleeps."""
    return f"300.{os.getpid()}{next(_NUMBERS)}"


def container(name: str, script: str) -> PodContainer:
    return PodContainer(name=name, image=SHELL_IMAGE, command=("sh", "-c", script))


def count(mark: str) -> int:
    found = subprocess.run(["pgrep", "-fc", f"^/?[a-z/]*sleep {mark}$"], capture_output=True)
    return int(found.stdout)


class Killed:
    """An engine of another process, which is killed."""

    def __init__(self, workflow: Workflow, folder: Path) -> None:
        self.home = folder / "home"
        file = folder / f"{workflow.name}.json"
        file.write_text(write_json(workflow))
        self.engine = self.couler("run", str(file))

    def couler(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "couler.cli", *words, "--home", str(self.home)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_when(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not is_so():
            assert self.engine.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.3)  # for the idle time of the journal
        self.engine.kill()
        self.engine.wait()


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Callable[[Workflow], Killed]]:
    started: list[Killed] = []

    def start(workflow: Workflow) -> Killed:
        started.append(Killed(workflow, tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.engine.kill()
        one.engine.wait()
        one.couler("cancel", "latest").wait()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["init_containers", "sidecars"])
def test_what_cleared_its_environment_is_ended_with_its_run(
    where: str, mark: str, killed: Callable[[Workflow], Killed]
) -> None:
    other = container("other", f"exec env -i {_program('sleep')} {mark}")
    step = sh("a", f"exec env -i {_program('sleep')} {mark}", **{where: [other]})
    expected = 1 if where == "init_containers" else 2
    run = killed(flow("w", step))
    run.kill_when(lambda: count(mark) == expected)
    assert count(mark) == expected
    assert run.couler("cancel", "latest").wait() == 0
    assert count(mark) == 0


@pytest.mark.parametrize(
    "where", ["sidecars", pytest.param("init_containers", marks=pytest.mark.slow)]
)
def test_a_lock_is_held_as_long_as_a_container_of_the_pod_lives(
    where: str, tmp_path: Path, killed: Callable[[Workflow], Killed]
) -> None:
    seen = tmp_path / "seen"
    other = container("other", f"echo begun >> {seen}; sleep 2; echo ended >> {seen}")
    step = sh("a", "kill -9 $PPID; exit 0", locks=[Mutex(name="m")], **{where: [other]})
    run = killed(flow("first", step))
    run.kill_when(seen.exists)
    after = flow("second", sh("look", f"cat {seen}", locks=[Mutex(name="m")]))
    ended = LocalBackend().run(after, options=RunOptions(home=run.home))
    assert ended.steps["look"].outputs["result"] == "begun\nended"


def test_processes_that_do_not_end_stop_the_engine_and_leave_nothing(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(works: object) -> int:
        raise StateError("processes of what has ended do not end: 1. End them, then try again")

    monkeypatch.setattr(place, "end_attempts", fail)
    step = sh("a", "sleep 0.3", sidecars=[container("beside", f"sleep {mark}")])
    workflow = flow("w", step, sh("b", f"sleep {mark}"), sh("c", f"sleep {mark} & wait"))
    options = RunOptions(home=tmp_path, jobs=4)
    with pytest.raises(StateError, match="do not end: 1"):
        LocalBackend().run(workflow, options=options)
    assert count(mark) == 0
    monkeypatch.undo()
    assert LocalBackend().cancel("latest", options=options) == "cancelled"


def _program(name: str) -> str:
    """Return the path of a program, which is found without PATH."""
    found = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, check=True)
    return found.stdout.decode().strip()
