"""Under Argo itself: lists of files at the bucket of its repository, and stored workflows."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import fill_locations
from couler.ir.workflow import Parameter, StoredWorkflow, Workflow
from tests.corpus import Case, cases
from tests.corpus.build import flow, param, parameter, words
from tests.support import argo_oracle
from tests.support.argo_outcome import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("oracle")]

CASES = [case for case in cases() if case.name.startswith("list_files")]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_argo_gives_the_stated_outcome(case: Case, tmp_path: Path) -> None:
    with argo_oracle.session(tmp_path / "run", artifacts=case.artifacts) as argo:
        workflow = fill_locations(case.workflow, {"s3": argo.storage})
        run = argo.run(ArgoBackend().compile(workflow, Target()).to_text())
    outcome = Outcome(workflow, run)
    assert outcome.states == case.expected.steps, (run.message, outcome.messages)
    assert outcome.status == case.expected.status
    for path, outputs in case.expected.outputs.items():
        for name, value in outputs.items():
            if name in outcome.outputs.get(path, {}):
                assert outcome.outputs[path][name] == value, (path, name)


def test_argo_runs_a_stored_workflow(tmp_path: Path) -> None:
    show = words("show", "sh", "-c", 'test "$0" = given', param("text"))
    stored = flow("held", show, parameters=[parameter("text", "nothing")])
    wanted = Workflow(
        name="wanted",
        stored=StoredWorkflow(name="stored"),
        parameters=(Parameter(name="text", default="given"),),
    )
    backend, template = ArgoBackend(), Target(options={"kind": "WorkflowTemplate"})
    # The linter is told of another workflow that is called "stored".
    kept = backend.compile(stored, template).to_text().replace("name: held\n", "name: stored\n")
    asked = backend.compile(wanted, Target()).to_text()
    run = argo_oracle.run(f"{kept}---\n{asked}", work_dir=tmp_path / "run")
    assert run.phase == "Succeeded", run.message
