"""Attempts of steps as the engine makes them, without the engine."""

from __future__ import annotations

import os
import subprocess
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from couler.backends.local.runtimes.base import Job, Runtime
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

    def make(step: Step, volumes: t.Sequence[Volume] = (), gpus: tuple[int, ...] = ()) -> Job:
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
        gpus: tuple[int, ...] = (),
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
