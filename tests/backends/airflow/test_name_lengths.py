"""Names that become ids of tasks which are too long for Airflow."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

from couler.backends.airflow import AirflowBackend, check
from couler.backends.base import Target
from couler.errors import CoulerError
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.backends.airflow.files import places_of
from tests.corpus import cases
from tests.support.airflow_target import with_files
from tests.support.strategies import workflows

OF_THE_RUN = re.compile(r"(run-\w+|exit-\w+(\.when)?|may-start|(make|delete|remove)-\w+)_*|sample|")
"""Tasks beside all steps, whose names are short whatever those of the steps are."""

BACKEND = AirflowBackend()


def assert_counted(workflow: Workflow, target: Target) -> None:
    """Assert that the longest id would be refused if one less were the limit."""
    places = places_of(BACKEND.compile(workflow, target).to_text())
    longest = max((one for one in places if not OF_THE_RUN.fullmatch(one)), key=len)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_LONGEST", len(longest) - 1)
        assert list(check.check_names(workflow)), longest


@pytest.mark.slow
def test_all_ids_of_the_corpus_are_counted() -> None:
    for case in cases():
        if case.name not in REFUSED:
            assert_counted(resolve_defaults(case.workflow), with_files())


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows())
@pytest.mark.slow
def test_all_ids_are_counted(workflow: Workflow) -> None:
    workflow = resolve_defaults(workflow)
    if any(one.severity == "error" for one in BACKEND.check(workflow, Target())):
        return
    try:
        check_engine(workflow, BACKEND, Target())
    except CoulerError:
        return
    assert_counted(workflow, Target())
