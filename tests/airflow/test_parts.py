"""Parts under Airflow: the same tasks, edges and outcomes as without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.parts import part_ids
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.split import Split
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.corpus import cases
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Loaded, Worker
from tests.support.airflow_target import with_files
from tests.support.divisions import divided, undivided
from tests.support.large_workflows import layered
from tests.support.mill_of_flows import Mill

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(4)]

BACKEND = AirflowBackend()
SEEDS = (1000, 1003, 1004, 1007)
RUN = ("exit_handlers_of_failure", "group_handles_failure", "omitted_chain", "foreach_group")


def loaded(workflow: Workflow, airflow: Worker) -> Loaded:
    workflow = resolve_defaults(workflow)
    assert not [
        one for one in check_engine(workflow, BACKEND, with_files()) if one.code != "CLR342"
    ]
    found = airflow.load(BACKEND.compile(workflow, with_files()).to_text())
    assert found.errors == {}
    assert found.warnings == {}
    assert found.round_trip
    return found


def written(found: Loaded) -> tuple[list[Any], set[str]]:
    """What Airflow writes of the tasks of a DAG, and the ids of its groups."""
    [dag] = found.serialized.values()
    tasks = sorted(dag["dag"]["tasks"], key=str)
    groups: set[str] = set()
    waiting = [dag["dag"]["task_group"]]
    while waiting:
        group = waiting.pop()
        groups.add(group["_group_id"])
        waiting += [one for kind, one in group["children"].values() if kind == "taskgroup"]
    return tasks, groups


def test_tasks_of_the_corpus_are_written_as_without_parts(airflow: Worker) -> None:
    for seed, case in enumerate(one for one in cases() if one.name not in REFUSED):
        parts = divided(case.workflow, seed)
        tasks, groups = written(loaded(parts, airflow))
        flat, others = written(loaded(undivided(case.workflow), airflow))
        assert tasks == flat, case.name
        assert groups == others | set(part_ids(parts).values()), case.name


@pytest.mark.parametrize("name", RUN)
def test_the_outcome_of_a_case(name: str, airflow: Worker, tmp_path: Path) -> None:
    [case] = [one for one in cases() if one.name == name]
    assert_same_outcome(divided(case.workflow, 1), airflow, None, tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_outcome_of_a_random_workflow(seed: int, airflow: Worker, tmp_path: Path) -> None:
    assert_same_outcome(divided(Mill(seed).workflow(), seed), airflow, None, tmp_path)


def split_layers(count: int, width: int, group_steps: int) -> Workflow:
    """A workflow whose data flow across the parts that the pass makes."""
    given = layered(count, width)
    made = Split(group_steps=group_steps).run(given, PassContext(engine="airflow"))
    groups = {step.part.group for step in made.steps if step.part is not None}
    assert len(groups) >= count // group_steps
    return made


def test_a_split_workflow_with_data_across_parts(
    airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    done = assert_same_outcome(split_layers(40, 8, 10), airflow, cluster, tmp_path)
    assert len(done.pods) == 40


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_thousand_steps_with_data_across_parts(airflow: Worker, tmp_path: Path) -> None:
    workflow = split_layers(1000, 20, 100)
    with FakeCluster(tmp_path / "cluster", quota=1000, lifetime_s=3600.0) as cluster:
        done = assert_same_outcome(workflow, airflow, cluster, tmp_path, limit_s=3000.0)
    assert len(done.pods) == 1000


def test_a_split_workflow_of_a_thousand_steps_is_loaded(airflow: Worker) -> None:
    workflow = split_layers(1000, 20, 100)
    found = loaded(workflow, airflow)
    assert len(found.tasks[workflow.name]) == 1000 + 1  # the outputs of the run
    _, groups = written(found)
    assert groups == {None, *part_ids(workflow).values()}
