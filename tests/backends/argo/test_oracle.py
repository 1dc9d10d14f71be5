"""The corpus under Argo itself: its linter takes the manifests, its controller runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.defaults import resolve_defaults
from couler.ir.values import encode
from couler.ir.yaml_writer import dump
from tests.backends.argo.absences import BEYOND, REFUSED
from tests.backends.argo.test_corpus import compiled
from tests.corpus import Case, cases
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
        "---\n".join([*(dump(tree) for tree in config_maps), text]),
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
