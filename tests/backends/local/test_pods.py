"""Containers before and beside a step as processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.pods import _Lines
from couler.ir.pods import PodContainer
from couler.ir.storage import EnvFrom, EnvVar, SecretKey
from couler.ir.workflow import Workflow
from couler.state.results import RunResult
from tests.corpus.build import SHELL_IMAGE, flow, sh

FOREVER = "while true; do sleep 0.05; done"


def container(name: str, script: str, *args: object, **fields: object) -> PodContainer:
    return PodContainer(
        name=name,
        image=SHELL_IMAGE,
        command=("sh", "-c", script),
        args=("sh", *args) if args else (),
        **fields,  # type: ignore[arg-type]  # a shorthand
    )


def run(workflow: Workflow, home: Path, **fields: object) -> RunResult:
    return LocalBackend().run(workflow, options=RunOptions(home=home), **fields)  # type: ignore[arg-type]  # a shorthand


def log_of(result: RunResult, step: str) -> str:
    return Path(str(result.steps[step].log)).read_text()


def lives(mark: str) -> bool:
    """Return whether a process with a word in its command line lives."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:  # it has ended meanwhile
                continue
            if mark.encode() in words:
                return True
    return False


def test_what_they_write_is_in_the_log_of_the_step(tmp_path: Path) -> None:
    secret = EnvVar(name="TOKEN", secret=SecretKey(secret="hub", key="token"))
    step = sh(
        "a",
        "echo own; sleep 0.3",
        init_containers=[container("first", "echo one; printf two")],
        sidecars=[container("beside", f'echo "with $TOKEN" >&2; {FOREVER}', env=(secret,))],
    )
    result = run(flow("w", step), tmp_path, environ={"COULER_SECRET_hub_token": "s3cret"})
    assert result.status == "succeeded"
    assert result.steps["a"].outputs == {"result": "own"}
    lines = log_of(result, "a").splitlines()
    assert lines[:2] == ["first | one", "first | two"]
    assert sorted(lines[2:]) == ["beside | with ***", "own"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("stays", "main"),
    [
        ("sleep NUMBER & wait", "sleep 0.3"),
        ("trap '' TERM; while true; do sleep NUMBER; done", "sleep 0.3; exit 1"),
        ("setsid sleep NUMBER & sleep NUMBER", "sleep 0.3"),
    ],
)
def test_nothing_beside_a_step_outlives_it(stays: str, main: str, tmp_path: Path) -> None:
    # tests that run at the same time have folders of one name, so the process tells them apart
    mark, number = f"couler-test-{os.getpid()}-{tmp_path.name}", f"301.{os.getpid()}"
    stays = stays.replace("NUMBER", number)
    beside = container("beside", f": {mark}; {stays}", mirror_mounts="setsid" in stays)
    step = sh("a", main, sidecars=[beside])
    after = sh("b", "sleep 0.01", depends_on=["a"])
    result = run(flow("w", step, after), tmp_path)
    assert result.steps["a"].status == ("failed" if "exit" in main else "succeeded")
    assert not lives(mark)
    done = subprocess.run(["pgrep", "-f", f"^sleep {number}$"], capture_output=True, check=False)
    assert done.stdout == b""


def test_a_time_limit_ends_those_before_and_beside(tmp_path: Path) -> None:
    workflow = flow(
        "w",
        sh("before", "true", init_containers=[container("slow", FOREVER)], timeout_s=0.5),
        sh("beside", FOREVER, sidecars=[container("slow", FOREVER)], timeout_s=0.5),
    )
    result = run(workflow, tmp_path)
    assert {step.status for step in result.steps.values()} == {"failed"}
    assert {step.message for step in result.steps.values()} == {
        "it did not end within its time limit"
    }


def test_what_cannot_start_ends_the_attempt(tmp_path: Path) -> None:
    gone = container("beside", FOREVER).model_copy(update={"working_dir": "/no/such/folder"})
    result = run(
        flow(
            "w",
            sh("a", f"touch {tmp_path}/a", sidecars=[container("other", FOREVER), gone]),
            sh("b", f"touch {tmp_path}/b", init_containers=[gone]),
        ),
        tmp_path / "home",
    )
    told = 'its container "beside": the working directory /no/such/folder does not exist here'
    assert [step.message for step in result.steps.values()] == [told, told]
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def test_all_entries_of_a_secret_are_masked(tmp_path: Path) -> None:
    beside = container("x", "echo $token", env_from=(EnvFrom(secret="hub"),))
    step = sh("a", "sleep 0.3", init_containers=[beside])
    result = run(flow("w", step), tmp_path, environ={"COULER_SECRET_hub_token": "s3cret"})
    assert log_of(result, "a") == "x | ***\n"


# lines of the log ---------------------------------------------------------------------------------


def written(file: Path, *chunks: bytes, secrets: tuple[str, ...] = ()) -> list[bytes]:
    """Return the lines of a log after a container `c` has written."""
    with file.open("wb", buffering=0) as log:
        lines = _Lines(log.fileno(), "c", secrets)
        for chunk in chunks:
            lines.write(chunk)
        lines.flush()
    return file.read_bytes().split(b"\n")


@pytest.mark.parametrize("cut", [1, 65535, 65536, 65537])
def test_a_long_line_is_broken(cut: int, tmp_path: Path) -> None:
    text = b"x" * 65536 + b"\n" + b"y" * 65537 + b"\nz"
    lines = written(tmp_path / "log", text[:cut], text[cut:])
    assert lines == [b"c | " + b"x" * 65536, b"c | " + b"y" * 65536, b"c | y", b"c | z", b""]
