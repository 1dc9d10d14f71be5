"""Real Airflow gives every workflow of the corpus that compiles its outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.ir.defaults import resolve_defaults
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.corpus import Case, cases
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.store import SERVICE_ACCOUNTS, accounts_of
from tests.support import airflow_table
from tests.support.absences import corpus
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import Worker
from tests.support.airflow_table import Row
from tests.support.airflow_target import CLAIM, with_files
from tests.support.local_runs import run_here

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(4)]

BACKEND = AirflowBackend()
TARGET = with_files()


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    """The cases that were run, and how they compare with this machine."""
    return {}


@pytest.mark.parametrize("case", corpus(REFUSED))
def test_outcome(
    case: Case, airflow: Worker, cluster: FakeCluster, tmp_path: Path, rows: dict[str, Row]
) -> None:
    workflow = resolve_defaults(case.workflow)
    assert check_engine(workflow, BACKEND, TARGET) == ()
    text = BACKEND.compile(workflow, TARGET).to_text()
    for key, content in case.artifacts.items():
        file = cluster.claim(CLAIM) / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for name, entries in case.secrets.items():
        cluster.secret(name, dict(entries))
    for name, entries in case.config_maps.items():
        cluster.config_map(name, dict(entries))
    for account in accounts_of(workflow):
        cluster.create(SERVICE_ACCOUNTS, account)
    shared = tmp_path / "shared"
    shared.mkdir(exist_ok=True)
    conf = case.parameters_with(shared)
    run = airflow.run(text, case.workflow.name, cluster=cluster, conf=conf)
    found = AirflowOutcome(workflow, run.state, run.states, run.xcoms)
    rows[case.name] = airflow_table.compare(case, run_here(case, tmp_path / "here"), found)
    expected = case.expected
    assert found.states == expected.steps, run.log
    assert found.status == expected.status, run.log
    for path, outputs in expected.outputs.items():
        if path in found.inlined:
            continue
        given = found.outputs.get(path, {})
        assert plain({name: given.get(name) for name in outputs}) == plain(outputs), path
    assert plain(found.run_outputs) == plain(expected.run_outputs)
    assert rows[case.name].airflow == "equal"


def plain(value: object) -> object:
    """JSON that is equal for equal values."""
    return json.loads(json.dumps(value))


@pytest.mark.golden
def test_the_page_says_what_the_runs_gave(
    rows: dict[str, Row], golden: Callable[[Path, str], None]
) -> None:
    """It comes last: `make airflow-table` writes the page."""
    found = airflow_table.all_rows(rows)
    if len(found) < len(cases()):
        pytest.skip("only a part of the corpus was run")
    golden(airflow_table.PAGE, airflow_table.page(found))
