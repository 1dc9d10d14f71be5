"""Every run of the corpus that fails is taken up as planned; what fails for good fails the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import Observation, RemoteRun, Restart
from couler.control.restart import Past, plan_restart
from couler.ir.defaults import resolve_defaults
from couler.ir.wire import encode
from couler.rest.client import RestClient
from tests.backends.argo.absences import BEYOND, REFUSED
from tests.backends.argo.test_corpus import compiled
from tests.corpus import Case, cases
from tests.support import argo_oracle
from tests.support.argo_plans import recorded

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


def _failing() -> list[Case]:
    return [
        case
        for case in cases()
        if case.expected.status == "failed" and case.name not in {**REFUSED, **BEYOND}
    ]


@pytest.mark.parametrize("case", _failing(), ids=lambda case: str(case.name))
def test_a_restart_goes_by_its_plan(case: Case, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    parameters = {name: encode(value) for name, value in case.parameters_with(shared).items()}
    workflow = resolve_defaults(case.workflow)
    with argo_oracle.session(
        tmp_path / "run", secrets=case.secrets, artifacts=case.artifacts, shared=[shared]
    ) as argo:
        first = argo.run(compiled(case), parameters=parameters, timeout_s=90)
        seen = Observer(workflow).observe(first.workflow)  # type: ignore[arg-type]  # JSON
        steps = recorded(seen)
        plan = plan_restart(Past(first.name, workflow, parameters, steps))
        with RestClient("argo", argo.address, extra="argo") as client:
            remote = ArgoRemote(ClusterApi(client, "default"))
            run = RemoteRun(first.name, workflow, {"name": first.name})
            artifact = ArgoBackend().compile(workflow, Target())
            remote.restart(run, Restart(workflow, artifact, parameters, plan.again))
            argo.wait(first.name, timeout_s=90)
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
