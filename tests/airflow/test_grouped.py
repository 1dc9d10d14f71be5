"""Steps that share a pod under Airflow: the corpus comes to what it came to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.ir.grouped import GROUPED, REPORT, read_report
from couler.ir.walk import StepPath, steps_by_path
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import AirflowRun, Worker
from tests.support.airflow_target import CLAIM, with_files
from tests.support.dry_runs import Outcome
from tests.support.equivalence import assert_same_outcome
from tests.support.grouped_cases import Grouped, grouped_in_python

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(4)]

BACKEND = AirflowBackend()


GROUPS_ALONE = {"condition-of-a-pod-is-no-number"}
"""What did not begin in their groups has the state of the group there."""

FOUND = [one for name, one in grouped_in_python().items() if name not in {*REFUSED, *GROUPS_ALONE}]


def test_the_corpus_shows_something() -> None:
    assert len(FOUND) > 15
    assert {one.case.expected.status for one in FOUND} == {"succeeded", "failed"}


@pytest.mark.parametrize("found", FOUND, ids=lambda one: one.case.name)
def test_outcome(found: Grouped, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    case, workflow, planned, log = found
    assert check_engine(planned, BACKEND, with_files()) == ()
    text = BACKEND.compile(planned, with_files()).to_text()
    for key, content in case.artifacts.items():
        file = cluster.claim(CLAIM) / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for name, entries in case.secrets.items():
        cluster.secret(name, dict(entries))
    for name, entries in case.config_maps.items():
        cluster.config_map(name, dict(entries))
    shared = tmp_path / "shared"
    shared.mkdir(exist_ok=True)
    conf = case.parameters_with(shared)
    run = airflow.run(text, planned.name, cluster=cluster, conf=conf)
    before = Outcome(
        case.expected.status,
        case.expected.run_outputs,
        {path: (state, {}) for path, state in case.expected.steps.items()},
    )
    after = AirflowOutcome(planned, run.state, run.states, run.xcoms)
    states = {path: (state, {}) for path, state in after.states.items()}
    states.update(inside(planned, run, after))
    ended = Outcome(after.status, after.run_outputs, states)
    assert_same_outcome(workflow, before, planned, ended, log)


def inside(
    planned: Workflow, run: AirflowRun, after: AirflowOutcome
) -> dict[str, tuple[str, dict[str, object]]]:
    """Return how the steps inside of others ended, as the last line of each log tells."""
    found: dict[str, tuple[str, dict[str, object]]] = {}
    groups = {path for path, step in steps_by_path(planned) if step.origin == GROUPED}
    for path in after.states:
        if path not in groups:
            continue
        task = path.replace("/", ".")
        texts = [text for (name, _), text in run.logs.items() if name == task]
        for text in texts:
            for line in re.findall(rf"{REPORT}\{{.*\}}", text):
                for end in read_report([line]).ends:
                    place = StepPath.parse(path).parent / end.name
                    found[str(place)] = (end.state, {})
    return found
