"""Asking Airflow whether it takes a file: what comes of each kind of interpreter."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend, judge as module
from couler.backends.airflow.judge import PYTHON, judge
from couler.backends.base import Artifact, ArtifactFile, Target
from couler.errors import ConfigurationError, EngineError
from tests.support.sample_flows import echo, flow

ARTIFACT = Artifact("airflow", (ArtifactFile("greet.py", "print('a DAG')\n"),))


@pytest.fixture
def interpreter(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Make an interpreter of a shell script: $3 is the DAG file, $4 the place of the answer."""

    def make(script: str) -> dict[str, str]:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return {PYTHON: str(path), "PATH": "/usr/bin:/bin", "SECRET": "kept back"}

    return make


def answer(**fields: object) -> str:
    found = {"missing": [], "version": "3.3.2", "errors": [], "dags": ["greet"], **fields}
    return f'echo {shlex.quote(json.dumps(found))} >"$4"'


@pytest.mark.parametrize(("version", "is_older"), [("3.1.8", True), ("3.3.2", False)])
def test_a_file_for_a_newer_version(interpreter: Callable, version: str, *, is_older: bool) -> None:
    artifact = AirflowBackend().compile(flow(echo("a")), Target())
    environ = interpreter(answer(version=version, errors=["ImportError: no"], dags=[]))
    [found] = judge(artifact, environ)
    advice = "The file is for Airflow 3.3: compile with --engine-version 3.1"
    assert (advice in found.message) == is_older


def test_a_file_without_a_dag(interpreter: Callable) -> None:
    [found] = judge(ARTIFACT, interpreter(answer(dags=[])))
    assert "finds no DAG" in found.message


def without_packages(tmp_path: Path) -> Mapping[str, str]:
    python = tmp_path / "bare"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S "$@"\n')
    python.chmod(0o755)
    return {PYTHON: str(python)}


def test_an_interpreter_without_airflow(tmp_path: Path) -> None:
    environ = without_packages(tmp_path)
    with pytest.raises(ConfigurationError) as refused:
        list(judge(ARTIFACT, environ))
    assert refused.value.exit_code == 3
    install = f"{environ[PYTHON]} -m pip install apache-airflow apache-airflow-providers-cncf"
    assert install in str(refused.value)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo one; echo two; exit 4", "ended with 4 while it loaded: two"),
        ("exit 1", "ended with 1 while it loaded: it printed nothing"),
        ("sleep 60", "not loaded the DAG file within 0 s"),
    ],
)
def test_an_airflow_that_gives_no_answer(
    interpreter: Callable, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    if script.startswith("sleep"):
        monkeypatch.setattr(module, "_LIMIT_S", 0.3)
        script = f"exec {script}"
    with pytest.raises(EngineError, match=words):
        list(judge(ARTIFACT, interpreter(script)))


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nothing cannot be run"):
        list(judge(ARTIFACT, {PYTHON: str(tmp_path / "nothing")}))
