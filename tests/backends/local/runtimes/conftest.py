"""Attempts of steps as the engine makes them, without the engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from couler.backends.local.runtimes.base import Job, Runtime
from couler.backends.local.runtimes.containers import ContainerRuntime
from couler.ir.storage import Volume
from couler.ir.values import Literal
from couler.ir.workflow import Container, Input, Output, Script, Step

_ENDS_WITHIN_S = 60


@dataclass(frozen=True)
class End:
    """How an attempt ended."""

    exit_code: int
    stdout: str
    stderr: str
    job: Job
    reason: str | None

    def output(self, runtime: Runtime, path: str) -> Path:
        return runtime.place(self.job, path)


Attempt = Callable[..., End]


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., Job]:
    """Make the job of a step in a new folder."""
    made: list[Job] = []

    def make(step: Step, volumes: t.Sequence[Volume] = (), gpus: tuple[str, ...] = ()) -> Job:
        number = len(made)
        folder = tmp_path.resolve() / f"attempt-{number}"
        folder.mkdir()
        known = {volume.name: volume for volume in volumes}
        name = f"test-{os.getpid()}-{tmp_path.name.replace('_', '-').lower()}-{number}"
        run_id = f"run-{os.getpid()}"
        job = Job(run_id, name, step, folder, known, dict(os.environ), gpus)
        made.append(job)
        return job

    return make


@pytest.fixture
def attempt(make_job: Callable[..., Job]) -> Attempt:
    """Run a step once: put files of inputs, launch, wait, collect, end."""

    def run(
        runtime: Runtime,
        step: Step,
        *,
        files: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        volumes: t.Sequence[Volume] = (),
        gpus: tuple[str, ...] = (),
    ) -> End:
        job = make_job(step, volumes, gpus)
        runtime.prepare(job)
        try:
            for path, text in (files or {}).items():
                target = runtime.place(job, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            words: tuple[t.Any, ...] = ()
            if isinstance(step.action, Container):
                words = (*step.action.command, *step.action.args)
            launch = runtime.launch(job, words, environ or {})
            done = subprocess.run(
                launch.words,
                env=dict(launch.environ),
                cwd=launch.directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                start_new_session=True,
                timeout=_ENDS_WITHIN_S,
                check=False,
            )
            code = done.returncode if done.returncode >= 0 else 128 - done.returncode
            reason = runtime.reason(job, code)
            if code == 0:
                runtime.collect(job)
        finally:
            runtime.end(job)
        return End(code, done.stdout, done.stderr, job, reason)

    return run


@pytest.fixture
def shell() -> Callable[..., Step]:
    """Make a step that runs a line of shell."""

    def make(line: str, **fields: t.Any) -> Step:
        image = fields.pop("image", "busybox")
        inputs = tuple(
            Input(name=name, value=Literal(value="x"), type="file", path=path)
            for name, path in fields.pop("inputs", {}).items()
        )
        outputs = tuple(
            Output(name=name, type="file", path=path)
            for name, path in fields.pop("outputs", {}).items()
        )
        action = Container(image=image, command=("sh", "-c", line))
        return Step(name="step", action=action, inputs=inputs, outputs=outputs, **fields)

    return make


@pytest.fixture
def script() -> Callable[..., Step]:
    """Make a step that runs a script."""

    def make(source: str, command: tuple[str, ...] = ("sh",), **fields: t.Any) -> Step:
        image = fields.pop("image", "busybox")
        return Step(
            name="step", action=Script(image=image, source=source, command=command), **fields
        )

    return make


IMAGE = "localhost/couler-test/busybox:1"
_PROGRAMS = "cat chmod chown echo env false id kill ls mkdir printf ps pwd sh sleep test touch true"


_LOW_LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
"""For machines on which not even root may raise a limit."""


def _import_image(command: Sequence[str], folder: Path) -> None:
    """Make an image of busybox alone, without a registry."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox is not installed, of which the image is made")
    archive = folder / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for name, mode in (("bin", 0o755), ("data", 0o1777), ("tmp", 0o1777)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        tar.add(busybox, "bin/busybox")
        for name in _PROGRAMS.split():
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    changes = ["--change", 'ENTRYPOINT ["/bin/echo", "entry"]', "--change", 'CMD ["point"]']
    subprocess.run(
        [*command, "import", *changes, str(archive), IMAGE], check=True, capture_output=True
    )


def _set_up(tool: t.Literal["podman", "docker"], folder: Path) -> ContainerRuntime:
    """Find how containers run here: as set up, or with the old runtime, or with lower limits."""
    given = ContainerRuntime.from_environ(tool, os.environ)
    if shutil.which(given.command[0]) is None:
        pytest.skip(f"{tool} is not installed")
    if subprocess.run([*given.command, "info"], capture_output=True, check=False).returncode:
        pytest.skip(f"{tool} does not answer")
    _import_image(given.command, folder)
    told = ""
    for options in ((), ("--runtime", "runc")) if tool == "podman" else ((),):
        for arguments in ((), _LOW_LIMITS):
            runtime = replace(
                given,
                command=(*given.command, *options),
                run_args=(*given.run_args, *arguments),
            )
            words = [*runtime.command, "run", "--rm", *runtime.run_args]
            tried = subprocess.run(
                [*words, "--entrypoint", "true", IMAGE], capture_output=True, text=True, check=False
            )
            if tried.returncode == 0:
                return runtime
            told = tried.stderr.strip()
    pytest.skip(f"{tool} runs no containers here: {told}")


@pytest.fixture(scope="session", params=["podman", "docker"])
def containers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ContainerRuntime:
    """A tool that runs containers here, and has an image."""
    return _set_up(request.param, tmp_path_factory.mktemp("image"))
