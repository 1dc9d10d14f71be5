"""Every run of the corpus that fails is taken up as planned; what fails for good fails the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.footprint import check_runs
from couler.backends.argo.parts import has_runs
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import Observation, RemoteRun, Restart
from couler.control.restarting import Past, plan_restart
from couler.ir.defaults import resolve_defaults
from couler.ir.semantics.wire import encode
from couler.ir.workflow import Workflow
from couler.rest.client import RestClient
from tests.backends.argo.absences import BEYOND, REFUSED
from tests.corpus import Case, cases
from tests.oracle.test_argo_parts import suits
from tests.support import argo_oracle
from tests.support.argo_plans import recorded
from tests.support.divisions import divided
from tests.support.mill_of_flows import Mill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]

SEEDS = (10, 17, 54, 64)
"""Of random workflows that fail, and whose parts can have runs of their own."""


def _failing() -> list[Case]:
    return [
        case
        for case in cases()
        if case.expected.status == "failed" and case.name not in {**REFUSED, **BEYOND}
    ]


def _in_runs(case: Case) -> Workflow | None:
    """The workflow with runs of their own for parts of it; None if it has none that it can have."""
    if not suits(case):
        return None
    for seed in range(len(case.name), len(case.name) + 4):
        workflow = divided(case.workflow, seed)
        if has_runs(workflow) and not any(check_runs(workflow)):
            return workflow
    return None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", _failing(), ids=lambda case: str(case.name))
def test_a_restart_goes_by_its_plan(case: Case, tmp_path: Path) -> None:
    _restarts_by_its_plan(case, case.workflow, tmp_path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "case", [case for case in _failing() if _in_runs(case)], ids=lambda case: str(case.name)
)
def test_a_restart_in_runs_of_parts_goes_by_its_plan(case: Case, tmp_path: Path) -> None:
    workflow = _in_runs(case)
    assert workflow is not None
    _restarts_by_its_plan(case, workflow, tmp_path)


def _restarts_by_its_plan(case: Case, workflow: Workflow, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    parameters = {name: encode(value) for name, value in case.parameters_with(shared).items()}
    workflow = resolve_defaults(workflow)
    with argo_oracle.session(
        tmp_path / "run", secrets=case.secrets, artifacts=case.artifacts, shared=[shared]
    ) as argo:
        _goes_by_its_plan(argo, workflow, parameters)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_restart_of_a_random_workflow_in_runs_of_parts_goes_by_its_plan(
    seed: int, tmp_path: Path
) -> None:
    workflow = resolve_defaults(divided(Mill(seed).workflow(), seed))
    assert has_runs(workflow)
    with argo_oracle.session(tmp_path / "run") as argo:
        _goes_by_its_plan(argo, workflow, {})


def _goes_by_its_plan(
    argo: argo_oracle.Session, workflow: Workflow, parameters: Mapping[str, str]
) -> None:
    artifact = ArgoBackend().compile(workflow, Target())
    first = argo.run(artifact.to_text(), parameters=parameters)
    with RestClient("argo", argo.address, extra="argo") as client:
        remote = ArgoRemote(ClusterApi(client, "default"))
        run = RemoteRun(first.name, workflow, {"name": first.name})
        seen = remote.observe(run)
        plan = plan_restart(Past(first.name, workflow, parameters, recorded(seen)))
        remote.restart(run, Restart(workflow, artifact, parameters, plan.again))
        argo.wait(first.name)
        again = remote.observe(run)
    assert _states(again) == _states(seen)
    assert again.status == "failed"
    kept = {step.path for step in plan.steps if step.verdict == "reused"}
    assert kept.isdisjoint(plan.again)
    times = {str(step.path): step.finished for step in seen.steps}
    for step in again.steps:
        if str(step.path) in kept:
            assert step.finished == times[str(step.path)], step.path


def _states(seen: Observation) -> dict[str, str]:
    return {str(step.path): step.status for step in seen.steps}
