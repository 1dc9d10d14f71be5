"""A command line in a folder of its own, with nothing set outside of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import typing as t
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import click.testing
import pytest

from couler.cli import app
from tests.fakes.llm import ScriptedServer
from tests.fakes.llm.script import Source

GREET = """
ir_version: "1"
name: greet
parameters:
- {name: who, default: you}
- {name: times, type: int, default: 2}
steps:
- name: hello
  action: {kind: container, image: busybox, command: [sh, -c, 'echo "hi $COULER_INPUT_who"']}
  inputs: [{name: who, value: {kind: param, name: who}}]
- name: again
  action: {kind: container, image: busybox, command: [sh, -c, 'echo "$COULER_INPUT_text"']}
  inputs: [{name: text, value: {kind: step, step: hello}}]
outputs:
- {name: greeting, value: {kind: step, step: again}}
"""

CLEAN_ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("COULER_", "OPENAI_"))
    and not name.lower().endswith("_proxy")
    and name not in ("NO_COLOR", "FORCE_COLOR")
}


KEY = "sk-secret-of-these-tests-0123456789"

Serve = Callable[[Source], ScriptedServer]


class Outcome(t.NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> t.Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ) - set(CLEAN_ENVIRONMENT):
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-settings"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[[str, str], str]:
    """Write a file: ``write(name, text)``; gives the name."""

    def write_file(name: str, text: str) -> str:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return name

    return write_file


@pytest.fixture
def greet(write: Callable[[str, str], str]) -> str:
    """A workflow of two steps, one parameter of each kind and one output."""
    return write("greet.yaml", GREET)


def make_runner() -> click.testing.CliRunner:
    """Return a runner that tells standard output from standard error, on every version of click."""
    try:
        return click.testing.CliRunner(mix_stderr=False)  # before click 8.2
    except TypeError:
        return click.testing.CliRunner()


@pytest.fixture
def couler() -> Callable[..., Outcome]:
    """Call the command line in this process: ``couler("show", "flow.yaml")``."""

    def call(*arguments: str, input: str | bytes | None = None) -> Outcome:
        result = make_runner().invoke(app, arguments, input=input, prog_name="couler")
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def couler_process(folder: Path) -> Callable[..., Outcome]:
    """Call the command line as a process of its own."""

    def call(*arguments: str, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "couler.cli", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={
                **CLEAN_ENVIRONMENT,
                "XDG_CONFIG_HOME": str(folder),
                "XDG_DATA_HOME": str(folder / "data"),
                **environment,
            },
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start an endpoint that the environment names, and that answers from a script."""
    with ExitStack() as stack:

        def start(script: Source) -> ScriptedServer:
            server = stack.enter_context(ScriptedServer(script))
            for name, value in {**server.environment, "COULER_LLM_API_KEY": KEY}.items():
                monkeypatch.setenv(name, value)
            return server

        yield start


class Engine:
    """The folder of a target's engine, see support/scripted_engine.py."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def play(
        self, *stages: Mapping[str, t.Any], again: t.Sequence[Mapping[str, t.Any]] = ()
    ) -> None:
        """Let the next run go through stages."""
        script = {"stages": stages, "again": again}
        (self.folder / "script.json").write_text(json.dumps(script))

    def fail(self, text: str | None) -> None:
        """Refuse everything with a text from now on; nothing if it is None."""
        if text is None:
            (self.folder / "fault").unlink()
        else:
            (self.folder / "fault").write_text(text)

    def refuse_restarts(self, text: str) -> None:
        """Refuse to take runs up, with a text."""
        (self.folder / "refusal").write_text(text)

    def log(self, path: str, text: str) -> None:
        """Let a step have written something."""
        file = self.folder / "logs" / path.replace("/", "+")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def end_after(self, count: int) -> None:
        """Go on to the next stage with every so many observations."""
        (self.folder / "pace").write_text(str(count))

    def calls(self, verb: str | None = None) -> list[dict[str, t.Any]]:
        """Return what was asked of it."""
        file = self.folder / "calls.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        calls = [json.loads(line) for line in lines]
        return [call for call in calls if verb in (None, call["call"])]


@pytest.fixture
def engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine elsewhere, installed as a third party's, and a target `away` that is it."""
    installed = folder / "installed"
    information = installed / "scripted-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[couler.backends]\nscripted = couler_scripted_engine:ScriptedBackend\n"
    )
    source = Path(__file__).parents[1] / "support" / "scripted_engine.py"
    shutil.copy(source, installed / "couler_scripted_engine.py")
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), *sys.path[1:]]))
    away = folder / "away"
    away.mkdir()
    (folder / "pyproject.toml").write_text(
        '[tool.couler.targets.away]\nengine = "scripted"\nfolder = "away"\n'
    )
    return Engine(away)
