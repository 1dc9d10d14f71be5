"""Containers of podman and docker, where one of them runs here."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.local.runtimes.base import CannotStartError, Job
from couler.backends.local.runtimes.containers import ContainerRuntime
from couler.ir.policies import Resources
from couler.ir.storage import EmptyVolume, HostVolume, Mount
from couler.ir.workflow import Container, Output, Step, Workflow

pytestmark = pytest.mark.slow

IMAGE = "localhost/couler-test/busybox:1"
HOSTILE = "x\n{{a}} $(b) ${c} $$ 'd' \"e\" \\ \t,=# é\r\n end \n"

Attempt = Callable[..., t.Any]
Make = Callable[..., Step]


def exists(containers: ContainerRuntime, job: Job) -> bool:
    words = ["ps", "--all", "--format", "{{.Names}}"]
    done = subprocess.run([*containers.command, *words], text=True, capture_output=True, check=True)
    return job.name in done.stdout.split()


def state(containers: ContainerRuntime, job: Job) -> str:
    words = ["inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", job.name]
    done = subprocess.run([*containers.command, *words], text=True, capture_output=True, check=True)
    return done.stdout.strip()


def test_files_words_and_variables(
    containers: ContainerRuntime, attempt: Attempt, shell: Make
) -> None:
    step = shell(
        'pwd; echo "$COULER_WORK"; cat given/a >b; printf %s "$TEXT" >text;'
        'printf %s "$PATH" >path; printf %s "$LANG" >lang; echo err >&2',
        image=IMAGE,
        inputs={"a": "given/a"},
        outputs={"b": "b", "text": "/tmp/couler/text"},
        working_dir=".",
    )
    environ = {"TEXT": HOSTILE, "PATH": "/bin:/own path", "LANG": " # x=y "}
    end = attempt(containers, step, files={"given/a": "A\n"}, environ=environ)
    assert (end.exit_code, end.stdout) == (0, "/tmp/couler\n/tmp/couler\n"), end.stderr
    assert end.stderr == "err\n"
    assert end.output(containers, "b").read_text() == "A\n"
    assert end.output(containers, "text").read_bytes() == HOSTILE.encode()
    assert end.output(containers, "path").read_text() == "/bin:/own path"
    assert end.output(containers, "lang").read_text() == " # x=y "
    assert end.output(containers, "b").stat().st_uid == os.getuid()
    assert containers.seen(end.job, "b") == "/tmp/couler/b"
    assert not exists(containers, end.job)


def test_every_word_arrives_as_it_is(containers: ContainerRuntime, attempt: Attempt) -> None:
    words = ("a b", "", "--env", "$HOME", HOSTILE)
    action = Container(image=IMAGE, command=("printf", "%s|"), args=words)
    end = attempt(containers, Step(name="step", action=action))
    # What a client in text mode reads has its line ends changed.
    assert end.stdout == "".join(f"{word}|" for word in words).replace("\r\n", "\n")


def test_the_entry_point_of_the_image(containers: ContainerRuntime, attempt: Attempt) -> None:
    plain = Step(name="step", action=Container(image=IMAGE))
    assert attempt(containers, plain).stdout == "entry point\n"
    with_args = Step(name="step", action=Container(image=IMAGE, args=("given",)))
    assert attempt(containers, with_args).stdout == "entry given\n"
    own = Step(name="step", action=Container(image=IMAGE, command=("echo",)))
    assert attempt(containers, own).stdout == "\n"


def test_absolute_paths(containers: ContainerRuntime, attempt: Attempt, shell: Make) -> None:
    step = shell(
        "cat /in/a >/data/b; mkdir -p /data/new/sub; echo c >/data/new/sub/c; chmod 600 /data/b;"
        "echo x >>/in/a",
        image=IMAGE,
        inputs={"a": "/in/a"},
        outputs={"b": "/data/b", "none": "/data/none", "a": "/in/a"},
    )
    directory = Output(name="dir", type="directory", path="/data/new")
    step = step.model_copy(update={"outputs": (*step.outputs, directory)})
    end = attempt(containers, step, files={"/in/a": "A"})
    assert end.exit_code == 0, end.stderr
    assert end.output(containers, "/data/b").read_text() == "A"
    assert end.output(containers, "/data/new").joinpath("sub/c").read_text() == "c\n"
    assert end.output(containers, "/in/a").read_text() == "Ax\n"
    assert not end.output(containers, "/data/none").exists()
    assert not Path("/data/b").exists()


def test_volumes(
    containers: ContainerRuntime, attempt: Attempt, shell: Make, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    (shared / "sub").mkdir(parents=True)
    (shared / "sub" / "a").write_text("A")
    mounts = (
        Mount(volume="scratch", path="/dev/shm"),
        Mount(volume="scratch", path="/part", sub_path="part"),
        Mount(volume="host", path="/host", sub_path="sub", read_only=True),
    )
    step = shell(
        "echo x >/part/x; cat /dev/shm/part/x /host/a; echo no >/host/b",
        image=IMAGE,
        mounts=mounts,
        outputs={"x": "/dev/shm/part/x"},
    )
    volumes = (EmptyVolume(name="scratch"), HostVolume(name="host", path=str(shared)))
    end = attempt(containers, step, volumes=volumes)
    assert (end.exit_code, end.stdout) == (1, "x\nA"), end.stderr
    assert "Read-only file system" in end.stderr
    assert end.output(containers, "/dev/shm/part/x").read_text() == "x\n"
    assert os.listdir(shared / "sub") == ["a"]


def test_a_volume_of_the_machine_must_exist(
    containers: ContainerRuntime, attempt: Attempt, shell: Make, tmp_path: Path
) -> None:
    step = shell("true", image=IMAGE, mounts=(Mount(volume="host", path="/host"),))
    volumes = (HostVolume(name="host", path=f"{tmp_path}/nowhere"),)
    with pytest.raises(CannotStartError, match="nowhere, which it mounts at /host, does not"):
        attempt(containers, step, volumes=volumes)


def test_scripts_and_working_directories(
    containers: ContainerRuntime, attempt: Attempt, script: Make
) -> None:
    source = "pwd\necho \"$0\" '{{x}}' $((1 + 1))\n"
    end = attempt(containers, script(source, image=IMAGE, working_dir="a/b"))
    assert end.stdout == "/tmp/couler/a/b\n/tmp/.couler-script {{x}} 2\n"
    end = attempt(containers, script("pwd", image=IMAGE, working_dir="/data"))
    assert end.stdout == "/data\n"
    end = attempt(containers, script("pwd", image=IMAGE))
    assert end.stdout == "/\n"  # the image's own


@pytest.mark.parametrize("code", [3, 125, 126, 127, 255])
def test_exit_codes_are_those_of_the_program(
    containers: ContainerRuntime, attempt: Attempt, shell: Make, code: int
) -> None:
    end = attempt(containers, shell(f"exit {code}", image=IMAGE))
    assert (end.exit_code, end.reason) == (code, None)


def test_the_end_by_a_signal(containers: ContainerRuntime, attempt: Attempt, shell: Make) -> None:
    end = attempt(containers, shell("kill -KILL $$", image=IMAGE))
    assert (end.exit_code, end.reason) == (128 + signal.SIGKILL, None)


def test_an_image_that_is_not_there(
    containers: ContainerRuntime, attempt: Attempt, shell: Make
) -> None:
    step = shell("true", image="localhost/couler-test/none:1", pull_policy="Never")
    end = attempt(containers, step)
    assert end.exit_code == 125
    assert 'cannot start a container of the image "localhost/couler-test/none:1"' in end.reason
    assert end.stderr


def test_a_step_whose_device_is_not_there(
    containers: ContainerRuntime, attempt: Attempt, shell: Make
) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has such a device")
    step = Step.model_validate(
        {**shell("true", image=IMAGE).model_dump(), "resources": {"gpu": {"count": 1}}}
    )
    end = attempt(containers, step)
    assert end.exit_code in (125, 126, 127)
    assert "cannot start a container" in end.reason


def test_limits_hold(containers: ContainerRuntime, attempt: Attempt, shell: Make) -> None:
    if os.getuid() != 0 and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("without root, limits need the second version of control groups")
    resources = Resources(cpu_limit="500m", memory_limit="64Mi")
    line = (
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes;"
        "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us"
    )
    end = attempt(containers, shell(line, image=IMAGE, resources=resources))
    memory, cpu = end.stdout.split("\n")[:2]
    assert int(memory) == 64 * 2**20
    assert cpu.split()[0] == "50000"


def spawn(runtime: ContainerRuntime, job: Job, line: str) -> subprocess.Popen[bytes]:
    """Start a container that says so, and wait until it does and its client passes signals on."""
    runtime.prepare(job)
    launch = runtime.launch(job, ("sh", "-c", line), {"SECRET": "top secret"})
    process = subprocess.Popen(
        launch.words,
        env=dict(launch.environ),
        cwd=launch.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    time.sleep(2)  # between the start and the passing on, a signal ends podman itself
    return process


WAIT = "echo started; sleep 3600"


def test_sigterm_reaches_the_program(
    containers: ContainerRuntime, make_job: Callable[..., Job], shell: Make
) -> None:
    job = make_job(shell("", image=IMAGE))
    line = "trap 'echo asked; exit 7' TERM; echo started; sleep 3600 & wait"
    with contextlib.closing(Ended(containers, job)), spawn(containers, job, line) as process:
        os.killpg(process.pid, signal.SIGTERM)
        written, _ = process.communicate(timeout=600)
    assert (process.returncode, written) == (7, b"asked\n")


def test_sigterm_ends_a_program_that_does_not_handle_it(
    containers: ContainerRuntime, make_job: Callable[..., Job], shell: Make
) -> None:
    if not containers.has_init:
        pytest.skip("without an init process the first process ignores it")
    job = make_job(shell("", image=IMAGE))
    with contextlib.closing(Ended(containers, job)), spawn(containers, job, WAIT) as process:
        os.killpg(process.pid, signal.SIGTERM)
        # Podman ends itself by the signal that ended the container.
        assert process.wait(600) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        assert state(containers, job) == "exited 143"


class Ended:
    """Ends an attempt in any case, so that a failed test leaves no container."""

    def __init__(self, runtime: ContainerRuntime, job: Job) -> None:
        self._runtime, self._job = runtime, job

    def close(self) -> None:
        self._runtime.end(self._job)
        assert not exists(self._runtime, self._job)


def test_a_killed_client_leaves_nothing_after_the_end(
    containers: ContainerRuntime, make_job: Callable[..., Job], shell: Make
) -> None:
    job = make_job(shell("", image=IMAGE))
    with contextlib.closing(Ended(containers, job)), spawn(containers, job, WAIT) as process:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(600)
        assert exists(containers, job)


def test_orphans_are_found_by_their_run(
    containers: ContainerRuntime, make_job: Callable[..., Job], shell: Make
) -> None:
    jobs = [make_job(shell("", image=IMAGE)) for _ in range(2)]
    processes = []
    try:
        for job in jobs:
            processes.append(spawn(containers, job, WAIT))
            os.killpg(processes[-1].pid, signal.SIGKILL)
        assert containers.end_orphans("another-run") == 0
        assert all(exists(containers, job) for job in jobs)
        assert containers.end_orphans(jobs[0].run_id) == 2
        assert not any(exists(containers, job) for job in jobs)
        assert containers.end_orphans(jobs[0].run_id) == 0
    finally:
        for process in processes:
            process.wait(600)
            process.stdout.close()
        for job in jobs:
            containers.end(job)


def test_values_are_in_no_argument(
    containers: ContainerRuntime, make_job: Callable[..., Job], shell: Make
) -> None:
    job = make_job(shell("", image=IMAGE))
    with contextlib.closing(Ended(containers, job)), spawn(containers, job, WAIT) as process:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                assert b"top secret" not in path.read_bytes()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(600)


def test_users_of_images_can_write(
    containers: ContainerRuntime, attempt: Attempt, shell: Make
) -> None:
    """Their files are read by the engine all the same."""
    other = ContainerRuntime(
        containers.name, containers.command, containers.run_args, "1234:1234", containers.has_init
    )
    line = "id -u; cat a; echo b >b; mkdir d; chmod 700 d; echo c >d/c; chmod 600 b d/c"
    step = shell(line, image=IMAGE, inputs={"a": "a"}, working_dir=".")
    end = attempt(other, step, files={"a": "A"})
    assert (end.exit_code, end.stdout) == (0, "1234\nA"), end.stderr
    assert end.output(other, "b").read_text() == "b\n"
    assert end.output(other, "d/c").read_text() == "c\n"


def test_paths_with_marks_of_the_tools(
    containers: ContainerRuntime, attempt: Attempt, shell: Make, tmp_path: Path
) -> None:
    shared = tmp_path / 'a,"b" c'
    shared.mkdir()
    (shared / "x").write_text("X")
    step = shell("cat /m/x", image=IMAGE, mounts=(Mount(volume="host", path="/m"),))
    end = attempt(containers, step, volumes=(HostVolume(name="host", path=str(shared)),))
    assert end.stdout == "X", end.stderr


def test_inputs_that_are_not_there_are_not_mounted(
    containers: ContainerRuntime, attempt: Attempt, shell: Make
) -> None:
    step = shell("test -e /in/a || echo none", image=IMAGE, inputs={"a": "/in/a"})
    assert attempt(containers, step).stdout == "none\n"


def test_the_check_asks_the_tool(containers: ContainerRuntime, shell: Make) -> None:
    step = shell("true", image=IMAGE, outputs={"a": "/proc/a", "b": "/data/b"})
    found = list(containers.check(Workflow(name="flow", steps=(step,))))
    assert [one.code for one in found] == ["CLR361"]
