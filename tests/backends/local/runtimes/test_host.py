"""Processes of the machine: programs, folders, environment, and what is refused before a run."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.local.runtimes.base import Job
from couler.backends.local.runtimes.host import HostRuntime, explain_size, explain_start
from couler.ir.storage import EnvFrom, EnvVar
from couler.ir.values import ParamRef
from couler.ir.workflow import Container, Group, Step, Workflow

Attempt = Callable[..., t.Any]
Make = Callable[..., Step]

HOST = HostRuntime(dict(os.environ))


def codes(*steps: Step, runtime: HostRuntime = HOST) -> list[tuple[str, str | None]]:
    workflow = Workflow(name="flow", steps=steps)
    return [(one.code, one.step) for one in runtime.check(workflow)]


def run(program: str, **fields: object) -> Step:
    return Step.model_validate(
        {"name": "step", "action": Container(image="i", command=(program,)), **fields}
    )


def test_declared_paths_in_words_are_where_the_files_are(attempt: Attempt, shell: Make) -> None:
    step = shell("echo b >/tmp/couler/out", outputs={"b": "/tmp/couler/out"})
    end = attempt(HOST, step)
    assert end.output(HOST, "out").read_text() == "b\n"
    assert not Path("/tmp/couler/out").exists()


def test_programs_are_looked_for_where_the_step_looks(tmp_path: Path) -> None:
    program = tmp_path / "own-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    missing = [("CLR363", "step")]
    assert codes(run("own-program")) == missing
    here = EnvVar(name="PATH", value=str(tmp_path))
    assert codes(run("own-program", env=(here,))) == []
    assert codes(run("sh", env=(here,))) == missing
    assert codes(run("own-program"), runtime=HostRuntime({"PATH": str(tmp_path)})) == []
    assert codes(run(str(program))) == []
    assert codes(run(str(tmp_path / "other"))) == missing


def test_what_is_not_known_before_the_run_is_no_missing_program() -> None:
    path = EnvVar(name="PATH", value=ParamRef(name="p"))
    assert codes(run("no-such", env=(path,))) == []
    assert codes(run("no-such", env_from=(EnvFrom(secret="s"),))) == []
    assert codes(run("no-such", env_from=(EnvFrom(secret="s", prefix="S_"),))) != []
    assert codes(run("./no-such")) == []
    assert codes(run("/tmp/couler/no-such")) == []
    word = Step(name="step", action=Container(image="i", command=(ParamRef(name="p"),)))
    assert codes(word) == []
    assert codes(run("python3")) == []


def test_a_program_that_cannot_be_started_is_explained() -> None:
    assert explain_start("x", FileNotFoundError()).startswith('there is no program "x" on this')
    assert explain_start("x", PermissionError(13, "Permission denied")) == (
        '"x" may not be run: Permission denied'
    )
    assert explain_start("x", ValueError("embedded null byte")) == (
        '"x" cannot be started: embedded null byte'
    )


def test_sizes_that_no_process_is_given_are_explained() -> None:
    assert explain_size(("sh", "x" * 131_072), {}).startswith("argument 1 takes 131,072 bytes")
    assert explain_size(("sh",), {"A": "ü" * 70_000}).startswith('the variable "A" takes 140,002')
    assert explain_size(("x" * 9,) * 300_000, {"A": "b"}).startswith(
        "its arguments and variables take 3,000,004 bytes together"
    )


def test_a_job_of_another_kind_has_no_process(make_job: Callable[[Step], Job]) -> None:
    step = Step(name="group", action=Group(steps=()))
    with pytest.raises(TypeError, match="of the kind group is no process"):
        _ = make_job(step).action
