"""Steps that share a pod under Argo's real controller: the corpus comes to what it came to."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.walk import HANDLER_PREFIX, StepPath, steps_by_path, without_places
from couler.ir.workflow import Workflow
from tests.backends.argo.absences import REFUSED
from tests.corpus import Case
from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome, is_taken
from tests.support.grouped_cases import Grouped, grouped_in_python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


def _is_given(case: Case) -> bool:
    """Return whether a run needs what is not in the workflow."""
    return bool(case.parameters or case.secrets or case.config_maps or case.artifacts)


FOUND = [
    one
    for name, one in grouped_in_python().items()
    if name not in REFUSED and not _is_given(one.case) and is_taken(one.planned)
]


def test_the_corpus_shows_something() -> None:
    assert len(FOUND) > 10
    assert {one.case.expected.status for one in FOUND} == {"succeeded", "failed"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("one", FOUND, ids=lambda one: one.case.name)
def test_outcome(one: Grouped, argo: argo_oracle.Session, tmp_path: Path) -> None:
    unbegun = {path for path in one.case.expected.steps if not _is_there(one.planned, path)}
    found = assert_same_outcome(one.planned, argo, tmp_path, unbegun=unbegun)
    assert found.status == one.case.expected.status


def _is_there(workflow: Workflow, path: str) -> bool:
    """Return whether a step has a place of its own, and does not run inside of another one."""
    names = str(without_places(StepPath.parse(path)))
    return path.startswith(HANDLER_PREFIX) or names in dict(steps_by_path(workflow))
