"""Steps that share a pod under Argo's real controller: the corpus comes to what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.ir.defaults import resolve_defaults
from couler.ir.grouped import GROUPED
from couler.ir.paths import HANDLER_PREFIX, StepPath, without_places
from couler.ir.rewrite import map_steps
from couler.ir.walk import all_steps, steps_by_path
from couler.ir.workflow import Container, Script, Step, Workflow
from couler.optimizers.passes.group import Group
from couler.optimizers.pipeline import Pipeline
from tests.backends.argo.absences import REFUSED
from tests.corpus import Case, cases
from tests.corpus.build import PYTHON_IMAGE
from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome, is_taken
from tests.support.grouped_cases import CASES as MORE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


@pytest.fixture(scope="module")
def argo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[argo_oracle.Session]:
    with argo_oracle.session(tmp_path_factory.mktemp("argo")) as session:
        yield session


def in_python(step: Step) -> Step:
    """Return a step in the image of Python, which has a shell as well."""
    action = step.action
    if not isinstance(action, Container | Script):
        return step
    return step.model_copy(update={"action": action.model_copy(update={"image": PYTHON_IMAGE})})


def grouped(case: Case) -> Workflow | None:
    """Return a workflow in which steps share pods; None if none do."""
    if case.parameters or case.secrets or case.config_maps or case.artifacts:
        return None
    workflow = map_steps(resolve_defaults(case.workflow), in_python)
    planned, _ = Pipeline((Group(),)).run(workflow)
    return planned if any(step.origin == GROUPED for step in all_steps(planned)) else None


NOT_COMPARED = {  # nor are they without the pass
    "files-of-a-foreach-in-a-pod": "what a step keeps is told as a file here, and as a key there",
    "files-of-a-foreach-that-failed": "as above",
}

CASES = [
    one
    for one in (*cases(), *MORE)
    if one.name not in {*REFUSED, *NOT_COMPARED}
    and (made := grouped(one)) is not None
    and is_taken(made)
]


def test_the_corpus_shows_something() -> None:
    assert len(CASES) > 10
    assert {case.expected.status for case in CASES} == {"succeeded", "failed"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outcome(case: Case, argo: argo_oracle.Session, tmp_path: Path) -> None:
    planned = grouped(case)
    assert planned is not None
    paths = {path for path in case.expected.steps if not _is_there(planned, path)}
    found = assert_same_outcome(planned, argo, tmp_path, unbegun=paths)
    assert found.status == case.expected.status


def _is_there(workflow: Workflow, path: str) -> bool:
    """Return whether a step has a place of its own, and does not run inside of another one."""
    names = str(without_places(StepPath.parse(path)))
    return path.startswith(HANDLER_PREFIX) or names in dict(steps_by_path(workflow))
