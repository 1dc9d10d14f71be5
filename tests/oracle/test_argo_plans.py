"""A run of the corpus that went well on Argo's controller has nothing that runs again."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.argo.observe import Observer
from couler.control.restart import Past, plan_restart
from couler.ir.defaults import resolve_defaults
from couler.ir.wire import encode
from tests.backends.argo.absences import BEYOND, REFUSED
from tests.backends.argo.test_corpus import compiled
from tests.corpus import Case, cases
from tests.oracle.test_argo_restart_corpus import _recorded
from tests.support import argo_oracle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


UNTRUE = (
    "its code, definition or inputs have changed",
    "a value that it reads is not recorded",
    "it has not run",
    "something that it depends on has run after it",
)
"""Reasons that nothing has here."""


def _going_well() -> list[Case]:
    return [
        case
        for case in cases()
        if case.expected.status == "succeeded"
        and not case.config_maps  # which this cluster has not
        and case.name not in {**REFUSED, **BEYOND}
    ]


@pytest.mark.parametrize("case", _going_well(), ids=lambda case: str(case.name))
def test_nothing_runs_again_but_for_a_failure(case: Case, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    parameters = {name: encode(value) for name, value in case.parameters_with(shared).items()}
    workflow = resolve_defaults(case.workflow)
    with argo_oracle.session(
        tmp_path / "run", secrets=case.secrets, artifacts=case.artifacts, shared=[shared]
    ) as argo:
        run = argo.run(compiled(case), parameters=parameters, timeout_s=90)
    seen = Observer(workflow).observe(run.workflow)  # type: ignore[arg-type]  # JSON
    plan = plan_restart(Past(run.name, workflow, parameters, _recorded(seen)))
    if all(step.status != "failed" for step in seen.steps):
        assert plan.again == set(), plan.steps
    untrue = {step.path for step in plan.steps if step.reason in UNTRUE}
    assert untrue == set(), plan.steps
