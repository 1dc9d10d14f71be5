"""Whole runs in containers, where podman or docker runs here."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.runtimes.containers import ContainerRuntime
from couler.ir.policies import Foreach, Retry
from couler.ir.serialize import write_json
from couler.ir.storage import EmptyVolume, Mount
from couler.ir.workflow import Container, Output, Step, Workflow
from couler.state.results import RunResult
from tests.corpus.build import flow, given, item, out, ref, value

pytestmark = pytest.mark.slow

IMAGE = "localhost/couler-test/busybox:1"


def box(name: str, line: str, *args: object, **fields: object) -> Step:
    """Return a step that runs a line of shell in the image."""
    command = ("sh", "-c", line, "sh")
    action = Container(image=IMAGE, command=command, args=args)  # type: ignore[arg-type]  # values
    fields["outputs"] = (Output(), *fields.get("outputs", ()))  # type: ignore[misc]  # a shorthand
    return Step(name=name, action=action, **fields)  # type: ignore[arg-type]  # a shorthand


def environ(containers: ContainerRuntime) -> dict[str, str]:
    tool = containers.name.upper()
    return {
        **os.environ,
        f"COULER_{tool}": shlex.join(containers.command),
        f"COULER_{tool}_ARGS": shlex.join(containers.run_args),
    }


def run(containers: ContainerRuntime, workflow: Workflow, home: Path) -> RunResult:
    options = RunOptions(home=home, jobs=2, runtime=containers.name)
    return LocalBackend().run(workflow, options=options, environ=environ(containers))


def test_values_files_and_absolute_paths(containers: ContainerRuntime, tmp_path: Path) -> None:
    make = box(
        "make",
        'echo "$1" > "$COULER_WORK/out"; mkdir /data/d; echo deep > /data/d/f; echo said',
        "text",
        outputs=(out("f", "file", "out"), out("d", "directory", "/data/d")),
    )
    read = box(
        "read",
        'cat "$COULER_INPUT_f" /data/in/f; echo $(($1 + 1)); pwd',
        item(),
        inputs=(
            given("f", ref("make", "f"), "file"),
            given("d", ref("make", "d"), "directory", "/data/in"),
        ),
        working_dir="/tmp",
    )
    each = read.model_copy(update={"foreach": Foreach(over={"item": value([1, 2])})})
    result = run(containers, flow("w", make, each), tmp_path)
    assert result.status == "succeeded", result
    assert result.steps["read[1]"].outputs == {"result": "text\ndeep\n3\n/tmp"}
    assert result.steps["make"].outputs["result"] == "said"


def test_exit_codes_retries_and_time_limits(containers: ContainerRuntime, tmp_path: Path) -> None:
    workflow = flow(
        "w",
        box("code", "exit 7", retry=Retry(limit=1, exit_codes=(7,))),
        box("late", "sleep 3600", timeout_s=2.0),
        Step(name="gone", action=Container(image=IMAGE, command=("/no/such/program",))),
    )
    result = run(containers, workflow, tmp_path)
    assert (result.steps["code"].exit_code, result.steps["code"].attempts) == (7, 2)
    assert result.steps["late"].message == "it did not end within its time limit"
    assert result.steps["gone"].status == "failed"
    assert not listed(containers, result.run_id)


def test_a_folder_that_is_thrown_away(containers: ContainerRuntime, tmp_path: Path) -> None:
    mounts = (Mount(volume="s", path="/scratch"),)
    step = box("a", "echo x > /scratch/f && cat /scratch/f", mounts=mounts)
    workflow = flow("w", step, volumes=[EmptyVolume(name="s")])
    assert run(containers, workflow, tmp_path).steps["a"].outputs == {"result": "x"}


PROGRAM = """
import sys
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.serialize import read_json

workflow = read_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
options = RunOptions(home=Path(sys.argv[2]), runtime=sys.argv[3])
LocalBackend().run(workflow, options=options)
"""


def test_containers_of_a_dead_engine_end_before_the_run_goes_on(
    containers: ContainerRuntime, tmp_path: Path
) -> None:
    first = box("first", "echo 1")
    gate = box("gate", "echo there; while test ! -e /nowhere; do sleep 0.1; done")
    open_ = box("gate", "echo there")
    (tmp_path / "w.json").write_text(write_json(flow("w", first, gate)), encoding="utf-8")
    home = tmp_path / "home"
    words = [sys.executable, "-c", PROGRAM, tmp_path / "w.json", home, containers.name]
    with subprocess.Popen(words, env=environ(containers), start_new_session=True) as engine:
        until = time.monotonic() + 600
        logs = "runs/*/logs/gate.log"
        while not any(log.stat().st_size for log in home.glob(logs)):
            assert engine.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        engine.send_signal(signal.SIGKILL)
    [folder] = (home / "runs").iterdir()
    options = RunOptions(home=home, runtime=containers.name)
    result = LocalBackend().retry(
        folder.name,
        workflow=flow("w", first, open_),
        options=options,
        environ=environ(containers),
    )
    assert result.status == "succeeded"
    assert not listed(containers, folder.name)


def listed(containers: ContainerRuntime, run_id: str) -> list[str]:
    words = ["ps", "--all", "--quiet", "--filter", f"label=couler.run={run_id}"]
    done = subprocess.run([*containers.command, *words], text=True, capture_output=True, check=True)
    return done.stdout.split()
