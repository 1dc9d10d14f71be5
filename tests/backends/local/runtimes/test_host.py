"""Processes of the machine: programs, folders, environment, and what is refused before a run."""

from __future__ import annotations

import os
import sys
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.local.runtimes.base import CannotStartError, Job
from couler.backends.local.runtimes.host import HostRuntime, explain_size, explain_start
from couler.ir.storage import EnvFrom, EnvVar
from couler.ir.values import ParamRef
from couler.ir.workflow import Container, Group, Script, Step, Workflow

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


def test_a_process_finds_its_folder_inputs_and_variables(attempt: Attempt, shell: Make) -> None:
    hostile = "x\n{{a}} $(b) ${c} 'd' \"e\"\\"
    step = shell(
        'pwd; echo "$COULER_WORK"; cat given/a; printf %s "$TEXT"; echo b >b',
        inputs={"a": "given/a"},
        outputs={"b": "/tmp/couler/b"},
    )
    end = attempt(HOST, step, files={"given/a": "A\n"}, environ={"TEXT": hostile})
    work = end.job.work
    assert (end.exit_code, end.stdout) == (0, f"{work}\n{work}\nA\n{hostile}")
    assert end.output(HOST, "/tmp/couler/b").read_text() == "b\n"
    assert HOST.seen(end.job, "/tmp/couler/b") == HOST.seen(end.job, "b") == str(work / "b")


def test_declared_paths_in_words_are_where_the_files_are(attempt: Attempt, shell: Make) -> None:
    step = shell("echo b >/tmp/couler/out", outputs={"b": "/tmp/couler/out"})
    end = attempt(HOST, step)
    assert end.output(HOST, "out").read_text() == "b\n"
    assert not Path("/tmp/couler/out").exists()


def test_what_a_step_declares_stands_before_what_is_inherited(
    attempt: Attempt, shell: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_TEST_A", "inherited")
    monkeypatch.setenv("COULER_TEST_B", "inherited")
    step = shell('echo "$COULER_TEST_A $COULER_TEST_B"')
    end = attempt(HOST, step, environ={"COULER_TEST_A": "own"})
    assert end.stdout == "own inherited\n"


def test_python_is_the_interpreter_of_the_engine(attempt: Attempt, script: Make) -> None:
    for name in ("python", "python3"):
        end = attempt(HOST, script("import sys; print(sys.executable)", (name,)))
        assert end.stdout == f"{sys.executable}\n"


def test_a_working_directory_in_the_folder_is_made(attempt: Attempt, shell: Make) -> None:
    end = attempt(HOST, shell("pwd", working_dir="a/b"))
    assert end.stdout == f"{end.job.work}/a/b\n"


def test_a_working_directory_of_the_machine_must_exist(
    attempt: Attempt, shell: Make, tmp_path: Path
) -> None:
    assert attempt(HOST, shell("pwd", working_dir=str(tmp_path))).stdout == f"{tmp_path}\n"
    with pytest.raises(CannotStartError, match=r"the working directory .*nowhere does not exist"):
        attempt(HOST, shell("pwd", working_dir=f"{tmp_path}/nowhere"))


def test_devices_are_given_by_a_variable(attempt: Attempt, shell: Make) -> None:
    step = shell('echo "$CUDA_VISIBLE_DEVICES"')
    assert attempt(HOST, step, gpus=("1", "3")).stdout == "1,3\n"
    own = attempt(HOST, step, gpus=("1",), environ={"CUDA_VISIBLE_DEVICES": "7"})
    assert own.stdout == "7\n"


def test_every_missing_program_is_reported_before_the_run() -> None:
    inner = run("no-such-a")
    outer = Step(name="outer", action=Group(steps=(inner,)))
    script = Step(name="script", action=Script(image="i", source="x", command=("no-such-b", "-x")))
    found = list(HOST.check(Workflow(name="flow", steps=(outer, script, run("sh")))))
    assert [(one.code, one.step) for one in found] == [
        ("CLR363", "script"),
        ("CLR363", "outer/step"),
    ]
    assert found[1].message == (
        'step "outer/step" runs "no-such-a", which this machine does not have. Install it, or '
        "run the workflow where its image is used"
    )


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
