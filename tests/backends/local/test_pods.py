"""Containers before and beside a step as processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from couler.backends.base import RunOptions, Target, unsupported_uses
from couler.backends.local import LocalBackend
from couler.backends.local.capacity import Need, need_of
from couler.backends.local.pods import _Lines
from couler.errors import ConfigurationError, InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.pods import ContainerSettings, PodContainer, Port, StepPod
from couler.ir.policies import Cache, Gpu, Resources, Retry
from couler.ir.storage import EnvFrom, EnvVar, SecretKey
from couler.ir.workflow import Step, Workflow
from couler.state.results import RunResult
from tests.corpus.build import SHELL_IMAGE, flow, param, parameter, ref, sh

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


def test_a_later_attempt_has_its_head_before_all_that_is_written(tmp_path: Path) -> None:
    before = container("first", 'echo again; mkdir "$1/made"', param("shared"))
    step = sh("a", 'ls "$1"; exit 1', param("shared"), init_containers=[before])
    step = step.model_copy(update={"retry": Retry(limit=1)})
    shared = tmp_path / "shared"
    shared.mkdir()
    workflow = flow("w", step, parameters=[parameter("shared")])
    result = run(workflow, tmp_path / "home", parameters={"shared": str(shared)})
    first, second = log_of(result, "a").split("--- attempt 2 ---\n")
    assert first == "first | again\nmade\n"
    assert second.startswith("first | again\n")
    assert result.steps["a"].message == 'its init container "first" ended with exit code 1'


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    "stays",
    [
        "sleep NUMBER & wait",
        "trap '' TERM; while true; do sleep NUMBER; done",
        "setsid sleep NUMBER & sleep NUMBER",
    ],
)
@pytest.mark.parametrize("main", ["sleep 0.3", "sleep 0.3; exit 1"])
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


def test_a_bound_of_the_pod_is_one_of_the_process(tmp_path: Path) -> None:
    step = sh("a", FOREVER, pod=StepPod(timeout_s=0.3, pending_timeout_s=60), timeout_s=60)
    result = run(flow("w", step), tmp_path)
    assert result.steps["a"].message == "it did not end within its time limit"


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


def test_the_failure_of_the_step_is_told_before_that_of_a_sidecar(tmp_path: Path) -> None:
    result = run(flow("w", sh("a", "exit 7", sidecars=[container("x", "exit 5")])), tmp_path)
    assert result.steps["a"].message == "it ended with exit code 7"
    assert result.steps["a"].exit_code == 7


def test_programs_entries_and_commands_must_be_there(tmp_path: Path) -> None:
    program = PodContainer(name="x", image="i", command=("no-such-program-here",))
    with pytest.raises(InvalidWorkflowError, match=r'CLR363.*"no-such-program-here"'):
        run(flow("w", sh("a", "true", sidecars=[program])), tmp_path)
    secret = EnvVar(name="T", secret=SecretKey(secret="hub", key="token"))
    with pytest.raises(ConfigurationError, match="COULER_SECRET_hub_token"):
        run(flow("w", sh("a", "true", sidecars=[container("x", "true", env=(secret,))])), tmp_path)
    image_only = PodContainer(name="x", image="redis:7")
    with pytest.raises(UnsupportedFeatureError, match="container-without-command"):
        run(flow("w", sh("a", "true", sidecars=[image_only])), tmp_path)


def test_all_entries_of_a_secret_are_masked(tmp_path: Path) -> None:
    beside = container("x", "echo $token", env_from=(EnvFrom(secret="hub"),))
    step = sh("a", "sleep 0.3", init_containers=[beside])
    result = run(flow("w", step), tmp_path, environ={"COULER_SECRET_hub_token": "s3cret"})
    assert log_of(result, "a") == "x | ***\n"


def test_steps_with_one_port_beside_them_take_turns(tmp_path: Path) -> None:
    """Pods have networks of their own, so there two could listen on it at the same time."""
    settings = ContainerSettings(ports=(Port(number=61234),))
    beside = container("x", f"{FOREVER}", settings=settings)
    one = f"mkdir {tmp_path}/taken && sleep 0.2 && rmdir {tmp_path}/taken"
    result = run(flow("w", sh("a", one, foreach=[1, 2, 3], sidecars=[beside])), tmp_path / "home")
    assert result.status == "succeeded", result.steps


def test_need_of_a_pod() -> None:
    def asks(cpu: str, memory: str, gpus: int = 0) -> Resources:
        return Resources(cpu=cpu, memory=memory, gpu=Gpu(count=gpus) if gpus else None)

    step = sh(
        "a",
        "true",
        resources=asks("1", "10", 1),
        sidecars=[container("x", "true", resources=asks("2", "5", 1)), container("y", "true")],
        init_containers=[container("z", "true", resources=asks("1", "100"))],
    )
    assert need_of(step) == Need(cpus=3.0, memory_bytes=100, gpus=2)


def test_a_cached_step_counts_what_other_containers_read(tmp_path: Path) -> None:
    def states(value: str) -> str:
        reader = container("x", "true", ref("value"))
        cached = sh("a", "echo done", cache=Cache(), init_containers=[reader])
        workflow = flow(
            "w", sh("value", 'echo "$1"', param("p")), cached, parameters=[parameter("p")]
        )
        return run(workflow, tmp_path, parameters={"p": value}).steps["a"].status

    assert [states("1"), states("1"), states("2")] == ["succeeded", "cached", "succeeded"]


@pytest.mark.parametrize("runtime", ["podman", "docker"])
def test_containers_of_a_tool_have_no_sidecars(runtime: str) -> None:
    target = Target(options={"runtime": runtime})

    def refused(step: Step) -> list[str]:
        found = unsupported_uses(flow("w", step), LocalBackend(), target, {})
        return [one.message.split(" cannot do ")[1].split(",")[0] for one in found]

    assert refused(sh("a", "true", sidecars=[container("x", "true")])) == ["sidecar"]
    assert refused(sh("a", "true", init_containers=[container("x", "true")])) == []


# lines of the log ---------------------------------------------------------------------------------


def written(file: Path, *chunks: bytes, secrets: tuple[str, ...] = ()) -> list[bytes]:
    """Return the lines of a log after a container `c` has written."""
    with file.open("wb", buffering=0) as log:
        lines = _Lines(log.fileno(), "c", secrets)
        for chunk in chunks:
            lines.write(chunk)
        lines.flush()
    return file.read_bytes().split(b"\n")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_come_under_the_name_however_output_is_cut(size: int, tmp_path: Path) -> None:
    text = b"one\n\ntwo s3cret\nthree"
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    lines = written(tmp_path / "log", *chunks, secrets=("s3cret",))
    assert lines == [b"c | one", b"c | ", b"c | two ***", b"c | three", b""]


@pytest.mark.parametrize("cut", [1, 65535, 65536, 65537])
def test_a_long_line_is_broken(cut: int, tmp_path: Path) -> None:
    text = b"x" * 65536 + b"\n" + b"y" * 65537 + b"\nz"
    lines = written(tmp_path / "log", text[:cut], text[cut:])
    assert lines == [b"c | " + b"x" * 65536, b"c | " + b"y" * 65536, b"c | y", b"c | z", b""]


def test_output_without_lines_is_not_held(tmp_path: Path) -> None:
    chunk = b"x" * 4096
    lines = written(tmp_path / "log", *([chunk] * 10_000), secrets=("s3cret",))
    assert sum(len(line) - 4 for line in lines[:-1]) == 4096 * 10_000
    assert max(map(len, lines)) == 4 + 65536
