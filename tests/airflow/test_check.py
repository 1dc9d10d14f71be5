"""`couler validate --check`: the real Airflow reads a file, and says what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from couler.backends.airflow.judge import PYTHON, judge
from couler.backends.base import Artifact, ArtifactFile
from couler.cli import app
from tests.support import airflow_runs

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800)]


@pytest.fixture(params=[False, True], ids=["3.3", "3.1"])
def environ(request: pytest.FixtureRequest) -> dict[str, str]:
    """Variables that name the interpreter of an environment with Airflow."""
    if reason := airflow_runs.obstacle(old=request.param):
        pytest.skip(reason)
    return {**os.environ, PYTHON: str(airflow_runs.python(old=request.param))}


def messages(text: str, environ: dict[str, str]) -> list[str]:
    artifact = Artifact("airflow", (ArtifactFile("flow.py", text),))
    return [
        one.message.partition(" cannot load the DAG file: ")[2] for one in judge(artifact, environ)
    ]


DAG = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.python import PythonOperator

with DAG("flow", schedule=None):
    {task}
"""


def test_what_is_wrong_is_one_error_with_its_line(environ: dict[str, str]) -> None:
    task = "PythonOperator(task_id='a', python_callable=print, op_args=[1])"
    assert messages(DAG.format(task=task), environ) == []
    [name] = messages(
        DAG.format(task="PythonOperator(task_id='a', python_callable=nobody)"), environ
    )
    assert name == "NameError: name 'nobody' is not defined (line 6)"
    [syntax] = messages(DAG.format(task="("), environ)
    assert syntax.startswith("SyntaxError: '(' was never closed")
    [more] = messages(DAG.format(task=task.replace("op_args", "no_such")), environ)
    assert "no_such" in more
    assert more.endswith("(line 6)")


def test_a_circle_is_found(environ: dict[str, str]) -> None:
    task = "a = PythonOperator(task_id='a', python_callable=print); a >> a"
    [told] = messages(DAG.format(task=task), environ)
    assert "ycle" in told


def test_a_file_without_a_dag(environ: dict[str, str]) -> None:
    artifact = Artifact("airflow", (ArtifactFile("flow.py", "# no dag for airflow here\n"),))
    [told] = judge(artifact, environ)
    assert told.message.endswith("finds no DAG in the file")


PROGRAM = """
import couler

with couler.Workflow("flow") as wf:
    first = couler.run_script("python:3.12-slim", "python", "print(1)", step_name="first")
    with couler.when(first == "1"):
        couler.run_container("busybox", ["echo", "second"], step_name="second")
"""


def test_the_command(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PYTHON, environ[PYTHON])
    Path("flow.py").write_text(PROGRAM)
    version = "3.3" if "old" not in environ[PYTHON] else "3.1"
    command = ["validate", "flow.py", "-e", "airflow", "--engine-version", version, "--check"]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    assert "0 errors" in told.output
