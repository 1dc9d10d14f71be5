"""Every workflow of the corpus as a DAG file: compared with a golden one."""

from __future__ import annotations

import re
import textwrap
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.stages import diagnose
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED, REFUSED_BEFORE_3_3
from tests.corpus import Case, cases
from tests.support.absences import corpus
from tests.support.airflow_target import with_files

GOLDENS = Path(__file__).parents[2] / "golden" / "airflow"

BACKEND = AirflowBackend()
TARGET = with_files()

MARK = "# Above: helpers. Below: this workflow."
DEFAULTS = """\
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
    },
"""
"""Lines of all DAGs but one with a schedule."""


def compiled(case: Case, target: Target = TARGET) -> str:
    """Return a case's DAG file; raise if Airflow cannot do it."""
    workflow = resolve_defaults(case.workflow)
    assert check_engine(workflow, BACKEND, target) == ()
    return BACKEND.compile(workflow, target).to_text()


@pytest.fixture(params=corpus(REFUSED))
def case(request: pytest.FixtureRequest) -> Case:
    return t.cast("Case", request.param)


def test_what_is_refused_is_declared_with_its_codes() -> None:
    """If this fails, state in absences.py what is refused now, and what no longer is."""
    found = {
        case.name: {one.code for one in diagnose(case.workflow, ["airflow"], target=TARGET)}
        for case in cases()
    }
    refused = {name: ", ".join(sorted(codes)) for name, codes in found.items() if codes}
    assert refused == {name: absence.reason for name, absence in REFUSED.items()}


@pytest.mark.golden
def test_the_file_is_the_golden_one(case: Case, golden: Callable[[Path, str], None]) -> None:
    """A golden file has the DAG alone, less what is the same in all, with its block dedented."""
    dag = compiled(case).partition(MARK)[2].strip().replace(DEFAULTS, "")
    head, end, block = re.split(r"(?m)^((?:with.*)?\)(?: as dag)?:)\n", dag, maxsplit=1)
    golden(GOLDENS / f"{case.name}.py", f"{head}{end} ...\n{textwrap.dedent(block)}\n")


def test_there_is_a_golden_file_for_every_case_that_compiles() -> None:
    done = {case.name for case in cases()} - set(REFUSED)
    assert {path.stem for path in GOLDENS.glob("*.py")} == done


@pytest.mark.slow
def test_names_of_older_versions_stand_elsewhere() -> None:
    """What only `airflow.sdk` of 3.2 and later has is not asked of 3.1."""
    older = with_files("3.1")
    refused = set()
    for case in cases():
        if diagnose(case.workflow, ["airflow"], target=older):
            refused.add(case.name)
            continue
        text = compiled(case, older)
        compile(text, case.name, "exec")
        found = [line for line in text.splitlines() if line.startswith("from airflow.sdk")]
        assert found == [], case.name
    assert refused == {*REFUSED, *REFUSED_BEFORE_3_3}
