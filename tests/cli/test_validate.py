"""`couler validate`: all diagnostics, in three formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

MISTAKES = """
import couler

with couler.Workflow("mistakes") as flow:
    first = couler.run_container("busybox", ["true"], step_name="first")
    second = couler.run_container("busybox", ["true"], step_name="second")
    third = couler.run_container("busybox", ["true"], step_name="third", memory="lots")
    first >> second >> first
"""


@pytest.fixture
def mistakes(write: Callable) -> str:
    return write("mistakes.py", MISTAKES)


def test_nothing_wrong(couler: Callable, greet: str) -> None:
    told = couler("validate", greet, "-e", "argo", "-e", "local")
    assert (told.code, told.out) == (0, "")
    assert re.fullmatch(r"0 errors, 0 warnings in 2 steps \(\d+\.\d\d s\)\n", told.err)


def test_all_mistakes_at_once_by_line(couler: Callable, mistakes: str) -> None:
    told = couler("validate", mistakes)
    assert told.code == 1
    lines = told.out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["mistakes.py:4", "mistakes.py:6"]
    assert "CLR202 error" in lines[0]
    assert "CLR401 error" in lines[1]
    assert told.err.startswith("2 errors, 0 warnings in 3 steps")


def test_json(couler: Callable, mistakes: str) -> None:
    told = couler("validate", mistakes, "-e", "local", "--format", "json")
    assert (told.code, told.err) == (1, "")
    report = told.json
    assert report.pop("seconds") >= 0
    diagnostics = report.pop("diagnostics")
    assert report == {
        "schema_version": 1,
        "file": "mistakes.py",
        "workflow": "mistakes",
        "engines": ["local"],
        "errors": 2,
        "warnings": 0,
        "steps": 3,
    }
    assert [(one["code"], one["file"], one["line"]) for one in diagnostics] == [
        ("CLR202", "mistakes.py", 4),
        ("CLR401", "mistakes.py", 6),
    ]


def test_github(couler: Callable, mistakes: str) -> None:
    told = couler("validate", mistakes, "--format", "github")
    assert told.code == 1
    first, second = told.out.splitlines()
    assert first.startswith("::error file=mistakes.py,line=4,title=CLR202::")
    assert second.startswith("::error file=mistakes.py,line=6,title=CLR401::")


def test_github_escapes_what_it_would_read(couler: Callable, write: Callable) -> None:
    told = couler(
        "validate", write("a,b.py", "raise ValueError('100%\\nno')\n"), "--format", "github"
    )
    assert told.out == (
        "::error file=a%2Cb.py,line=1,title=CLR001::the program raised ValueError: 100%25%0Ano\n"
    )


def test_what_engines_lack_is_reported_beside_all_else(couler: Callable, write: Callable) -> None:
    file = write(
        "wait.yaml",
        """
        ir_version: "1"
        name: wait
        steps:
        - {name: make, action: {kind: job, manifest: {apiVersion: v1, kind: Job}}, timeout_s: 5.0}
        - {name: copy, action: {kind: container, image: busybox}, depends_on: [nobody]}
        """,
    )
    assert couler("validate", file, "-e", "argo").out.count(" CLR301 ") == 0
    told = couler("validate", file, "-e", "local")
    assert told.code == 1
    assert 'CLR301 error  local cannot do job, which step "make" asks for' in told.out
    assert "CLR160 error" in told.out
    assert len(told.out.splitlines()) == len(set(told.out.splitlines()))


@pytest.mark.parametrize(
    ("program", "code"),
    [("1/0", "CLR001"), ("x = 1", "CLR002"), ("import couler; couler.run()", "CLR135")],
)
def test_program_that_cannot_be_read_is_a_diagnostic(
    couler: Callable, write: Callable, program: str, code: str
) -> None:
    told = couler("validate", write("bad.py", program), "--format", "json")
    assert told.code == 1
    [only] = told.json["diagnostics"]
    assert (only["code"], only["file"], only["line"]) == (code, "bad.py", 1)
    assert told.json["workflow"] is None


def test_unknown_engine(couler: Callable, greet: str) -> None:
    told = couler("validate", greet, "-e", "argoo")
    assert (told.code, told.out) == (2, "")
    assert 'Did you mean "argo"?' in told.err


def test_profile_belongs_to_one_engine(couler: Callable, greet: str) -> None:
    told = couler("validate", greet, "-e", "argo", "-e", "local", "--profile", "argo")
    assert (told.code, told.out) == (2, "")
    assert couler("validate", greet, "-e", "argo", "--profile", "argo-minimal-crd").code == 0
    assert couler("validate", greet, "-e", "argo", "--profile", "nope").code == 2


def python_that_answers(folder: Path, **fields: object) -> str:
    """Make an interpreter of a shell script, in the place of one that has Airflow."""
    found = {"missing": [], "version": "3.3.2", "errors": [], "dags": ["greet"], **fields}
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho '{json.dumps(found)}' >\"$4\"\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({}, 0, "0 errors"),
        ({"errors": ["TypeError: no"]}, 1, "CLR380 error  Airflow 3.3.2 cannot load"),
        ({"missing": ["apache-airflow"]}, 3, "-m pip install apache-airflow"),
    ],
)
def test_the_engine_itself_is_asked(
    couler: Callable,
    greet: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, object],
    code: int,
    words: str,
) -> None:
    monkeypatch.setenv("COULER_AIRFLOW_PYTHON", python_that_answers(folder, **fields))
    told = couler("validate", greet, "-e", "airflow", "--check")
    assert told.code == code
    assert words in told.out + told.err
    assert couler("validate", greet, "-e", "airflow").code == 0


def test_an_engine_that_cannot_be_asked(couler: Callable, greet: str) -> None:
    told = couler("validate", greet, "-e", "argo", "--check")
    assert told.code == 2
    assert "argo cannot be asked whether it takes its files" in told.err
    assert "--check asks an engine" in couler("validate", greet, "--check").err


@pytest.mark.parametrize(
    "flags",
    [
        ("--engine-version", "3.1"),
        ("--profile", "airflow"),
        ("--namespace", "ml"),
        ("--option", "helper_image=busybox"),
    ],
)
def test_settings_are_those_of_one_engine(
    couler: Callable, greet: str, flags: tuple[str, str]
) -> None:
    assert couler("validate", greet, "-e", "airflow", *flags).code == 0
    assert couler("plan", greet, "-e", "airflow", *flags).code == 0
    for engines in ((), ("-e", "airflow", "-e", "argo")):
        told = couler("validate", greet, *engines, *flags)
        assert told.code == 2
        assert f"{flags[0]} belongs to one engine" in told.err


def test_a_version_that_no_file_is_written_for(couler: Callable, greet: str) -> None:
    told = couler("validate", greet, "-e", "airflow", "--engine-version", "2.11")
    assert told.code == 2
    assert "Airflow 3.0 to 3.3, not for '2.11'" in told.err
