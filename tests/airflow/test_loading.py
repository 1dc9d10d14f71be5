"""Airflow loads every file of the corpus, and of the workflows of other tests of this folder, and
reads back what it has written of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.errors import InvalidWorkflowError
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.airflow import test_combinations, test_ends, test_names, test_reads
from tests.backends.airflow.absences import REFUSED, REFUSED_BEFORE_3_3
from tests.corpus import cases
from tests.support import airflow_runs
from tests.support.airflow_runs import Worker
from tests.support.airflow_target import with_files

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800)]

BACKEND = AirflowBackend()
OTHERS = tuple(
    workflow
    for module in (test_names, test_ends, test_reads, test_combinations)
    for workflow in module.WORKFLOWS
)


@pytest.fixture(scope="module", params=["3.3", "3.1"])
def loader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Worker]]:
    """A version, and a process of its Airflow."""
    old = request.param != "3.3"
    if reason := airflow_runs.obstacle(old=old):
        pytest.skip(reason)
    with Worker(tmp_path_factory.mktemp("loading"), old=old) as worker:
        yield request.param, worker


def test_the_files_of_the_corpus(loader: tuple[str, Worker]) -> None:
    version, worker = loader
    target = with_files(version)
    for case in cases():
        workflow = resolve_defaults(case.workflow)
        if version != "3.3" and case.name in REFUSED_BEFORE_3_3:
            with pytest.raises(InvalidWorkflowError, match=r"since 3\.3"):
                check_engine(workflow, BACKEND, target)
        elif case.name not in REFUSED:
            assert_loads(workflow, target, worker)


def test_the_files_of_other_tests(loader: tuple[str, Worker]) -> None:
    version, worker = loader
    for workflow in OTHERS:
        assert_loads(resolve_defaults(workflow), Target(engine_version=version), worker)


def assert_loads(workflow: Workflow, target: Target, worker: Worker) -> None:
    assert check_engine(workflow, BACKEND, target) == ()
    loaded = worker.load(BACKEND.compile(workflow, target).to_text())
    assert loaded.errors == {}, workflow.name
    assert list(loaded.tasks) == [workflow.name]
    assert loaded.tasks[workflow.name]
    assert loaded.round_trip, workflow.name
    assert loaded.warnings == {}, workflow.name
