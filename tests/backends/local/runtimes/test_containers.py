"""What podman and docker are asked for, and what is made of their answers."""

from __future__ import annotations

import itertools
import os
import shutil
import typing as t
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from couler.backends.local.runtimes import containers
from couler.backends.local.runtimes.base import CannotStartError, Job
from couler.backends.local.runtimes.containers import ContainerRuntime
from couler.errors import ConfigurationError, EngineError
from couler.ir.pods import HostAlias
from couler.ir.policies import Gpu, Resources
from couler.ir.storage import EmptyVolume, HostVolume, Mount
from couler.ir.workflow import WORK_DIR, Container, Group, Step, Suspend, Workflow
from couler.packages import install_command

Make = Callable[..., t.Any]

PODMAN = ContainerRuntime("podman", ("podman",))
DOCKER = ContainerRuntime("docker", ("docker",))


def after(words: tuple[str, ...], option: str) -> list[str]:
    """Return the values of an option."""
    return [value for name, value in itertools.pairwise(words) if name == option]


def launched(runtime: ContainerRuntime, job: Job, **environ: str) -> tuple[str, ...]:
    runtime.prepare(job)
    words = ()
    if isinstance(job.action, Container):
        words = tuple(str(word) for word in (*job.action.command, *job.action.args))
    return runtime.launch(job, words, environ).words


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., ContainerRuntime]:
    """Make a tool that is a shell script; what it was called with is in the file `calls`."""

    def make(tool: t.Literal["podman", "docker"], source: str) -> ContainerRuntime:
        program = tmp_path / tool
        program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\n{source}\n')
        program.chmod(0o755)
        return ContainerRuntime(tool, (str(program),))

    return make


def test_settings() -> None:
    environ = {
        "COULER_PODMAN": "podman --runtime 'my runc'",
        "COULER_PODMAN_ARGS": "--network=none",
        "COULER_CONTAINER_USER": "image",
        "COULER_DOCKER_ARGS": "'",
    }
    runtime = ContainerRuntime.from_environ("podman", environ)
    assert runtime.command == ("podman", "--runtime", "my runc")
    assert (runtime.run_args, runtime.user) == (("--network=none",), "image")
    with pytest.raises(ConfigurationError, match="COULER_DOCKER_ARGS cannot be read"):
        ContainerRuntime.from_environ("docker", environ)
    assert ContainerRuntime.from_environ("docker", {}).command == ("docker",)


def test_without_a_command_the_image_has_its_own(make_job: Make) -> None:
    step = Step(name="step", action=Container(image="i", args=("a",)))
    words = launched(PODMAN, make_job(step))
    assert words[-2:] == ("i", "a")
    assert "--entrypoint" not in words


def test_limits(make_job: Make, shell: Make) -> None:
    resources = Resources(cpu="1", cpu_limit="1500m", memory="1Gi", memory_limit="1.5Gi")
    words = launched(PODMAN, make_job(shell("x", resources=resources)))
    assert (after(words, "--cpus"), after(words, "--memory")) == (["1.500"], ["1610612736b"])
    requests = launched(PODMAN, make_job(shell("x", resources=Resources(cpu="1", memory="1Gi"))))
    assert "--cpus" not in requests
    assert "--memory" not in requests


def test_devices(make_job: Make, shell: Make) -> None:
    step = shell("x", resources=Resources(gpu=Gpu(count=2)))
    given = make_job(step, gpus=("1", "3"))
    assert after(launched(PODMAN, given), "--device") == ["nvidia.com/gpu=1", "nvidia.com/gpu=3"]
    assert after(launched(DOCKER, given), "--gpus") == ['"device=1,3"']
    assert after(launched(DOCKER, make_job(step)), "--gpus") == ['"device=0,1"']
    without = launched(DOCKER, make_job(shell("x"), gpus=("1",)))
    assert "--gpus" not in without


@pytest.mark.parametrize(
    ("policy", "word"), [("Always", "always"), ("IfNotPresent", "missing"), ("Never", "never")]
)
def test_pulling(make_job: Make, shell: Make, policy: str, word: str) -> None:
    assert after(launched(PODMAN, make_job(shell("x", pull_policy=policy))), "--pull") == [word]


def test_users(make_job: Make, shell: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def users(runtime: ContainerRuntime, own: int) -> list[str]:
        monkeypatch.setattr(os, "getuid", lambda: own)
        monkeypatch.setattr(os, "getgid", lambda: own + 1)
        return after(launched(runtime, make_job(shell("x"))), "--user")

    assert users(DOCKER, 1000) == ["1000:1001"]
    assert users(DOCKER, 0) == []
    assert users(PODMAN, 1000) == []
    assert users(replace(DOCKER, user="image"), 1000) == []
    assert users(replace(PODMAN, user="7:8"), 1000) == ["7:8"]


def test_networks(make_job: Make, shell: Make) -> None:
    job = make_job(shell("x"))
    assert "--network" not in launched(DOCKER, job)
    aliases = (HostAlias(ip="10.0.0.1", names=("db", "hub")), HostAlias(ip="fd00::1", names=("a",)))
    words = launched(PODMAN, replace(job, host_network=True, host_aliases=aliases))
    assert after(words, "--network") == ["host"]
    assert after(words, "--add-host") == ["db:10.0.0.1", "hub:10.0.0.1", "a:fd00::1"]


def test_another_container_of_a_pod_sees_its_volumes_and_its_folder(
    make_job: Make, shell: Make
) -> None:
    step = shell("x", mounts=(Mount(volume="v", path="/m"),))
    main = make_job(step, volumes=(EmptyVolume(name="v"),))
    launched(DOCKER, main)
    folder = main.folder / "containers" / "before"
    folder.mkdir(parents=True)
    other = replace(main, folder=folder, shared=main.folder, mirrored=main.work)
    binds = after(launched(DOCKER, other), "--mount")
    assert binds == [
        f"type=bind,source={main.work},destination={WORK_DIR}",
        f"type=bind,source={main.folder}/volumes/v,destination=/m",
    ]
    alone = replace(other, mirrored=None)
    assert after(launched(DOCKER, alone), "--mount")[0].startswith(
        f"type=bind,source={folder}/work,"
    )


def test_values_of_variables_are_in_no_argument(make_job: Make, shell: Make) -> None:
    """Those that the client would read itself reach the container only."""
    job = make_job(shell("x"))
    DOCKER.prepare(job)
    secret = "top\nsecret"
    environ = {"A": secret, "PATH": "/0wn", "DOCKER_HOST": "tcp://0wn", "https_proxy": "0wn"}
    launch = DOCKER.launch(job, ("sh",), environ)
    assert launch.environ["A"] == secret
    assert launch.environ["PATH"] == os.environ["PATH"]
    assert "DOCKER_HOST" not in launch.environ
    assert not any("0wn" in word or "secret" in word for word in launch.words)
    file = Path(after(launch.words, "--env-file")[0])
    assert file.read_text() == "PATH=/0wn\nDOCKER_HOST=tcp://0wn\nhttps_proxy=0wn\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert set(after(launch.words, "--env")) == {"COULER_WORK", "A"}


def test_lines_in_a_variable_of_the_client(make_job: Make, shell: Make) -> None:
    words = launched(DOCKER, make_job(shell("x")), PATH="a\nb")
    assert "PATH=a\nb" in after(words, "--env")
    assert "--env-file" not in words


def test_packages_are_installed_as_on_argo(make_job: Make, script: Make) -> None:
    step = script("x", ("python", "-u"))
    action = step.action.model_copy(update={"packages": ("numpy>=2", "a b")})
    words = launched(DOCKER, make_job(step.model_copy(update={"action": action})))
    install = install_command(["numpy>=2", "a b"])
    assert words[-9:-5] == ("--entrypoint", "sh", "busybox", "-c")
    assert words[-5:] == (f'{install} && exec "$@"', "sh", "python", "-u", "/tmp/.couler-script")


def test_a_path_that_no_option_can_hold(make_job: Make, shell: Make, tmp_path: Path) -> None:
    folder = tmp_path / "a,b:c"
    folder.mkdir()
    step = shell("x", mounts=(Mount(volume="v", path="/m"),))
    job = make_job(step, volumes=(HostVolume(name="v", path=str(folder)),))
    with pytest.raises(CannotStartError, match="cannot be mounted at /m: it has both , and :"):
        launched(DOCKER, job)


def test_the_tool_must_be_there(fake: Make, shell: Make) -> None:
    workflow = Workflow(name="flow", steps=(shell("x"),))
    missing = ContainerRuntime("docker", ("no-such-docker",))
    with pytest.raises(ConfigurationError, match="no-such-docker cannot be run here"):
        list(missing.check(workflow))
    silent = fake("docker", "echo no daemon >&2; exit 1")
    with pytest.raises(ConfigurationError, match="docker does not answer: no daemon"):
        list(silent.check(workflow))
    pause = Step(name="pause", action=Suspend(seconds=1))
    assert list(missing.check(Workflow(name="flow", steps=(pause,)))) == []


def test_paths_that_no_container_has(fake: Make, shell: Make) -> None:
    inner = shell("x", outputs={"a": "../a", "b": "/sys/b", "c": "/data/c"})
    outer = Step(name="outer", action=Group(steps=(inner,)))
    found = list(fake("podman", "").check(Workflow(name="flow", steps=(outer,))))
    assert [(one.code, one.step) for one in found] == [("CLR361", "outer/step")] * 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("echo created no such program", 'of the image "busybox": no such program'),
        ("echo 'created '", 'of the image "busybox"; its log tells why'),
        ("exit 1", 'of the image "busybox"; its log tells why'),
        ("echo 'exited '", None),
    ],
)
def test_why_a_container_did_not_start(
    fake: Make, make_job: Make, shell: Make, answer: str, told: str | None
) -> None:
    reason = fake("docker", answer).reason(make_job(shell("x")), 127)
    assert reason == (told and f"docker cannot start a container {told}")


def test_other_exit_codes_need_no_question(make_job: Make, shell: Make) -> None:
    missing = ContainerRuntime("docker", ("no-such-docker",))
    assert missing.reason(make_job(shell("x")), 1) is None


def test_the_end(fake: Make, make_job: Make, shell: Make, tmp_path: Path) -> None:
    job = make_job(shell("x"))
    fake("podman", "").end(job)
    fake("docker", "echo 'Error: No such container: x' >&2; exit 1").end(job)
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"rm --force --volumes --time 0 {job.name}",
        f"rm --force --volumes {job.name}",
    ]
    with pytest.raises(EngineError, match="docker cannot remove a container: busy"):
        fake("docker", "echo busy >&2; exit 1").end(job)


def test_orphans(fake: Make, tmp_path: Path) -> None:
    assert fake("docker", "[ $1 = ps ] && printf 'a\\nb\\n'; exit 0").end_orphans("run-1") == 2
    assert (tmp_path / "calls").read_text().splitlines() == [
        "ps --all --quiet --filter label=couler.run=run-1",
        "rm --force --volumes a b",
    ]
    with pytest.raises(EngineError, match="podman does not tell its containers: no"):
        fake("podman", "echo no >&2; exit 1").end_orphans("run-1")


def test_orphans_of_a_tool_that_is_gone(tmp_path: Path) -> None:
    gone = ContainerRuntime("podman", (str(tmp_path / "podman"),))
    with pytest.raises(EngineError, match="an earlier session of run-1 may have left containers"):
        gone.end_orphans("run-1")


def test_outputs_are_copied_from_the_container(
    fake: Make, make_job: Make, shell: Make, tmp_path: Path
) -> None:
    step = shell("x", outputs={"a": "/data/a", "inside": "b", "work": "/tmp/couler/c"})
    job = make_job(step)
    fake("docker", "").collect(job)
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"cp --follow-link {job.name}:/data/a {job.folder}/root/data/a"
    ]
    fake("docker", "echo Could not find the file /data/a in container x >&2; exit 1").collect(job)
    with pytest.raises(EngineError, match="docker cannot copy /data/a: no space"):
        fake("docker", "echo no space >&2; exit 1").collect(job)


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ("podman", "unshare chown -R 0:0 {folder}"),
        ("docker", "run --rm --user 0 --pull never {mount} --entrypoint chown busybox {to}"),
    ],
)
def test_files_of_other_users_are_taken_back(
    fake: Make,
    make_job: Make,
    shell: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    call: str,
) -> None:
    job = make_job(shell("x"))
    (job.folder / "work").mkdir()
    fake(tool, "").collect(job)
    assert not (tmp_path / "calls").exists()
    user = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: user)
    fake(tool, "").collect(job)
    to = f"-R {user}:{os.getgid()} {WORK_DIR}"
    mount = f"--mount type=bind,source={job.folder},destination={WORK_DIR}"
    called = call.format(mount=mount, to=to, folder=job.folder)
    assert (tmp_path / "calls").read_text() == f"{called}\n"
    refusing = fake(tool, "[ $1 = rm ] || { echo no >&2; exit 1; }")
    with pytest.raises(EngineError, match=f"{tool} cannot give back files of the image's user: no"):
        refusing.collect(job)
    refusing.end(job)
    shutil.rmtree(job.folder)
    refusing.end(job)


def test_a_tool_that_does_not_end(
    fake: Make, make_job: Make, shell: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_WAIT_S", 0.1)
    with pytest.raises(EngineError, match=r"podman rm did not end in 0\.1 s"):
        fake("podman", "exec sleep 20").end(make_job(shell("x")))
