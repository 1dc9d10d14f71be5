"""Asks the real Airflow whether it takes a DAG file."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import typing as t
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from couler.backends.airflow.versions import NEWEST, OLDEST, version_of, written
from couler.backends.base import Artifact
from couler.errors import ConfigurationError, EngineError
from couler.ir.diagnostics import Diagnostic

CODE = "CLR380"
PYTHON = "COULER_AIRFLOW_PYTHON"
"""Names the interpreter of an environment that has Airflow, if it is another than this one."""

_LIMIT_S = 180.0
_KEPT = ("LANG", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV")


def judge(artifact: Artifact, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield what keeps Airflow from loading a file."""
    python = environ.get(PYTHON) or sys.executable
    found = _load(artifact, python, environ)
    if found["missing"]:
        raise ConfigurationError(_advice(found["missing"], python))
    other_version = _other_version(artifact, found.get("version", ""))
    for error in found["errors"]:
        yield Diagnostic(
            CODE, f"Airflow {found['version']} cannot load the DAG file: {error}{other_version}"
        )
    if not found["errors"] and not found["dags"]:
        yield Diagnostic(CODE, f"Airflow {found['version']} finds no DAG in the file")


def _load(artifact: Artifact, python: str, environ: Mapping[str, str]) -> dict[str, t.Any]:
    """Load the file in a process whose settings and home are its own."""
    program = (resources.files(__package__) / "loader.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="couler-airflow-") as folder:
        home = Path(folder)
        dags = home / "dags"
        dags.mkdir()
        file, answer = dags / artifact.files[0].name, home / "answer.json"
        file.write_text(artifact.to_text(), encoding="utf-8")
        try:
            # Not by its path: the folder would be searched for modules, and has an `http.py`.
            done = subprocess.run(
                [python, "-c", program, str(file), str(answer)],
                cwd=dags,
                env=_environment(home, environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
            )
        except OSError as error:
            raise ConfigurationError(f"{PYTHON}: {python} cannot be run: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise EngineError(
                f"Airflow has not loaded the DAG file within {_LIMIT_S:.0f} s"
            ) from error
        if not answer.is_file():
            last = (done.stdout.strip().splitlines() or ["it printed nothing"])[-1]
            raise EngineError(f"Airflow ended with {done.returncode} while it loaded: {last}")
        found: dict[str, t.Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def _other_version(artifact: Artifact, version: str) -> str:
    """Return advice where a file is for a newer version than loads it."""
    found = re.match(r"(\d+)\.(\d+)", version)
    here = (int(found[1]), int(found[2])) if found else NEWEST
    meant = version_of(artifact.to_text())
    if not OLDEST <= here < meant:
        return ""
    return (
        f". The file is for Airflow {written(meant)}: compile with --engine-version {written(here)}"
    )


def _environment(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    return {
        **{name: environ[name] for name in _KEPT if name in environ},
        "HOME": str(home),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # By default two calls are told, and what an operator refuses is further from the file.
        "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACK_DEPTH": "50",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "NO_COLOR": "1",
    }


def _advice(missing: list[str], python: str) -> str:
    where = "here" if python == sys.executable else f"for {python}"
    command = "pip install 'couler[airflow]'"
    if python != sys.executable:
        command = f"{shlex.quote(python)} -m pip install {' '.join(missing)}"
    return (
        f"asking Airflow needs {', '.join(missing)}, not installed {where}: {command}. "
        f"Or name the interpreter of an environment that has Airflow in {PYTHON}"
    )
