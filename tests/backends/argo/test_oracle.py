"""The corpus under Argo itself: its linter takes the manifests, its controller runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import RunLabel, RunSettings
from couler.ir.semantics.wire import encode
from couler.ir.values import RunRef, Template
from couler.ir.workflow import Schedule
from couler.ir.yaml_writer import dump_all
from tests.backends.argo.absences import BEYOND, REFUSED
from tests.backends.argo.test_corpus import compiled
from tests.corpus import Case, cases
from tests.corpus.build import flow, sh
from tests.fakes.kubernetes.store import accounts_of
from tests.support import argo_oracle
from tests.support.absences import corpus
from tests.support.argo_outcome import Outcome
from tests.support.argo_plans import check_nothing_runs_again

CONFIG_MAP_TYPE = "workflows.argoproj.io/configmap-type"
"""Argo takes parameters from config maps with this label only."""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("oracle")]


@pytest.mark.parametrize("kind", ["Workflow", "WorkflowTemplate"])
def test_argo_lint_takes_the_manifests(kind: str, tmp_path: Path) -> None:
    files = []
    for case in cases():
        if case.name not in REFUSED:
            files.append(tmp_path / f"{case.name}.yaml")
            files[-1].write_text(compiled(case, kind=kind))
    verdicts = argo_oracle.lint(files, alone=True)
    assert len(verdicts) == len(files)
    assert {one.file.stem: one.errors for one in verdicts if one.errors} == {}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", corpus({**REFUSED, **BEYOND}))
def test_argo_gives_the_stated_outcome(case: Case, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    text = compiled(case)
    config_maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {CONFIG_MAP_TYPE: "Parameter"}},
            "data": dict(data),
        }
        for name, data in case.config_maps.items()
    ]
    parameters = {name: encode(value) for name, value in case.parameters_with(shared).items()}
    run = argo_oracle.run(
        dump_all([*config_maps, *accounts_of(case.workflow)]) + f"---\n{text}",
        work_dir=tmp_path / "run",
        parameters=parameters,
        secrets=case.secrets,
        artifacts=case.artifacts,
        shared=[shared],
        timeout_s=30 if case.name in BEYOND else argo_oracle.LIMIT_S,  # one of them never ends
    )
    outcome = Outcome(resolve_defaults(case.workflow), run)
    expected = case.expected
    assert outcome.states == expected.steps, (run.message, outcome.messages)
    assert outcome.status == expected.status
    for path, outputs in expected.outputs.items():
        for name, value in outputs.items():
            if name in outcome.outputs.get(path, {}):
                assert outcome.outputs[path][name] == value, (path, name)
    assert outcome.run_outputs == expected.run_outputs
    if expected.status == "succeeded" and not case.config_maps:  # which plans do not look into
        check_nothing_runs_again(resolve_defaults(case.workflow), parameters, run)


@pytest.mark.parametrize("schedule", [None, Schedule(cron=("0 3 * * *",))])
def test_the_time_of_a_run_is_a_label(schedule: Schedule | None, tmp_path: Path) -> None:
    parts = ("on-", RunRef(field="logical_date"))
    label = RunLabel(name="day", value=Template(parts=parts))
    workflow = flow("labelled", sh("a", "true"), schedule=schedule)
    workflow = workflow.model_copy(update={"runs": RunSettings(labels=(label,))})
    text = ArgoBackend().compile(resolve_defaults(workflow), Target()).to_text()
    run = argo_oracle.run(text, work_dir=tmp_path / "run")
    assert run.phase == "Succeeded", run.message
    day = run.workflow["metadata"]["labels"]["day"]
    assert re.fullmatch(r"on-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", day)
