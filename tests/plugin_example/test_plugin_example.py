"""A distribution of a third party adds plugins of all kinds; no file of ours names them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.cli import app
from tests.cli.conftest import Outcome, make_runner

HERE = Path(__file__).resolve().parent

FLOW = """
ir_version: "1"
name: flow
steps:
- {name: a, action: {kind: container, image: "busybox:1.36", command: ["true"]}}
- {name: b, action: {kind: script, image: "python:3.12-slim", source: "1"}, depends_on: [a]}
- {name: c, action: {kind: http, url: "http://localhost"}}
"""

# Building it needs hatchling, which users of the bare wheel have not.
pytestmark = pytest.mark.checkout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example beside Couler, into a folder of its own."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(HERE, source, dirs_exist_ok=True)  # a build may leave files behind
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, *offline, "--target", str(target), str(source)], check=True)
    return target


ANSWERS = """
import json, os, sys
from couler.cli import app
from tests.cli.conftest import make_runner

for line in sys.stdin:
    folder, arguments = json.loads(line)
    os.chdir(folder)
    done = make_runner().invoke(app, arguments, prog_name="couler")
    print(json.dumps([done.exit_code, done.stdout, done.stderr]), flush=True)
"""


@pytest.fixture(scope="module")
def answers(installed: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in which the example is installed, and which carries commands out."""
    folders = (str(installed), str(HERE.parents[1]), os.environ.get("PYTHONPATH"))
    process = subprocess.Popen(
        [sys.executable, "-c", ANSWERS],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, folders)),
            "XDG_CONFIG_HOME": str(installed / "no-settings"),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.communicate()


@pytest.fixture
def couler(answers: subprocess.Popen[str], tmp_path: Path) -> Callable[..., Outcome]:
    """Call the command line where the example is installed."""
    (tmp_path / "flow.yaml").write_text(FLOW)

    def call(*arguments: str) -> Outcome:
        assert answers.stdin is not None
        assert answers.stdout is not None
        print(json.dumps([str(tmp_path), arguments]), file=answers.stdin, flush=True)
        return Outcome(*json.loads(answers.stdout.readline()))

    return call


def test_engine_compiles(couler: Callable) -> None:
    done = couler("compile", "flow.yaml", "-e", "image-list")
    note = "note: image-list ignores http (a request needs no image)\n"
    assert (done.code, done.err) == (0, note)
    assert done.out == "busybox:1.36\npython:3.12-slim\n"


def test_engine_is_in_the_table(couler: Callable) -> None:
    report = json.loads(couler("engines", "--format", "json").out)
    names = [engine["name"] for engine in report["engines"]]
    assert "image-list" in names
    assert "argo" in names


def test_engine_refuses_what_it_declares(couler: Callable, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        'ir_version: "1"\nname: w\nsteps:\n'
        "- {name: a, action: {kind: job, manifest: {apiVersion: v1, kind: Job, "
        "metadata: {name: x}}}}\n"
    )
    done = couler("compile", "job.yaml", "-e", "image-list")
    assert (done.code, done.out) == (5, "")
    assert "the images of a job are in its manifest" in done.err
    assert "Engines that can: airflow, argo" in done.err


def test_pass_runs_and_is_told_of(couler: Callable) -> None:
    done = couler("plan", "flow.yaml", "--pass", "label-steps{key=stage}")
    assert done.code == 0, done.err
    assert "label-steps{key=stage}" in done.out
    assert "3 steps can now be found by their label stage." in done.out
    assert "~ a: labels" in done.out


def test_pass_is_listed_with_its_options(couler: Callable) -> None:
    told = couler("passes", "label-steps", "--format", "json")
    assert (told.code, told.err) == (0, "")
    [listed] = json.loads(told.out)["passes"]
    assert listed == {
        "name": "label-steps",
        "summary": "Put a label on the steps of the outermost scope.",
        "distribution": "couler-plugin-example",
        "is_default": False,
        "options": [
            {
                "name": "key",
                "type": "a text",
                "default": "step",
                "description": "Name of the label; its value is the step's name.",
            }
        ],
    }


def test_cache_policy_is_found_with_its_options(installed: Path) -> None:
    program = (
        "from couler.caching.registry import policy_names, read_policy\n"
        "assert 'keep-small' in policy_names()\n"
        "print(read_policy('keep-small{most_bytes=1KiB}'))"
    )
    path = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("KeepSmall(most_bytes=1024)\n", "")


PROGRAM = """
import couler
from couler_plugin_example.steps import announce

with couler.Workflow("flow", name_of_model="digits") as wf:
    best = couler.run_container("busybox", ["echo", "a model"], step_name="best")
    told = announce(best, channels=["ml", "ops"])
    announce(wf.params.name_of_model, {more})
"""


def test_step_is_in_the_zoo(couler: Callable) -> None:
    listed = couler("zoo", "ls")
    assert (listed.code, listed.err) == (0, "")
    [line] = [line for line in listed.out.splitlines() if line.startswith("example.announce")]
    assert line.split(None, 3)[1:] == ["1.2", "couler-plugin-example", "Tell people what happened."]
    shown = json.loads(couler("zoo", "show", "example.announce", "--format", "json").out)
    assert shown["parameters"]["required"] == ["text"]
    assert shown["parameters"]["properties"]["urgent"] == {
        "type": "boolean",
        "default": False,
        "description": "Wake them up.",
    }
    assert "announce(" in shown["example"]


def test_step_is_in_the_manifest(couler: Callable, tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(PROGRAM.format(more="urgent=True"))
    done = couler("compile", "flow.py", "-e", "argo")
    assert done.code == 0, done.err
    assert "image: example.org/announce:1.2" in done.out
    assert "command: [announce, ml, ops]" in done.out
    assert "command: [announce, --urgent, general]" in done.out
    assert "depends: best" in done.out


WRONG = (
    ("urgnt=True", "CLR104", 'no argument "urgnt". Did you mean "urgent"?'),
    ('urgent="yes"', "CLR107", "must be bool, not 'yes', which is str"),
    ("channels=['a', 3]", "CLR107", "must be Sequence[str]"),
    ("channels=best", "CLR105", "must be known when the workflow is built"),
    ("['x'], True, 0, 1, 2", "CLR102", "4 arguments at most, not 6"),
    ("text='twice'", "CLR102", "given twice"),
)


def test_wrong_argument_is_one_diagnostic_at_its_line(couler: Callable, tmp_path: Path) -> None:
    calls = "".join(f"    announce(wf.params.name_of_model, {more})\n" for more, _, _ in WRONG)
    (tmp_path / "flow.py").write_text(PROGRAM.format(more="") + calls)
    done = couler("validate", "flow.py", "--format", "json")
    assert done.code == 1
    problems = json.loads(done.out)["diagnostics"]
    for line, problem, (_, code, words) in zip(range(9, 15), problems, WRONG, strict=True):
        assert (problem["code"], problem["file"], problem["line"]) == (code, "flow.py", line)
        assert words in problem["message"]


def test_without_the_distribution_there_is_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW)
    for arguments in (
        ["compile", "flow.yaml", "-e", "image-list"],
        ["plan", "flow.yaml", "--pass", "label-steps"],
    ):
        assert make_runner().invoke(app, arguments).exit_code == 2


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_no_file_of_ours_names_the_example() -> None:
    root = HERE.parents[1]
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    found = subprocess.run(
        [
            "git",
            "grep",
            "--untracked",
            "-l",
            "-e",
            "image-list",
            "-e",
            "label-steps",
            "-e",
            "keep-small",
            "-e",
            "example.announce",
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    assert {Path(name).parts[:2] for name in found} == {("tests", "plugin_example")}
