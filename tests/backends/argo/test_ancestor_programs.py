"""Programs of the earlier SDK under Argo: manifests, and the same outcome as on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.yaml_writer import dump_all
from tests.fakes.kubernetes.store import accounts_of
from tests.support import ancestor_programs, argo_oracle, argo_outcome, argo_schema
from tests.support.ancestor_programs import outcomes

GOLDENS = Path(__file__).parents[2] / "golden" / "ancestor"

WITH_GOLDEN = (
    *("cluster_settings", "diamond", "existing_secrets", "explicit_passing", "git_source"),
    *("map_in_graph", "nightly", "oss_dataset", "s3_model", "subgraphs", "training_job", "volumes"),
)

KINDS = {"template": "WorkflowTemplate", "nightly": "CronWorkflow"}

LARGE = {"fan_out"}
"""More than a thousand pods, each some processes here: only linted."""


def compiled(name: str, *, format: str = "yaml", kind: str | None = None) -> str:
    target = None if kind is None else Target(options={"kind": kind})
    return stages.compile(
        ancestor_programs.load(name), "argo", target=target, format=format
    ).to_text()


def test_the_api_server_takes_the_manifests() -> None:
    manifests = {
        name: json.loads(compiled(name, format="json", kind=KINDS.get(name)))
        for name in ancestor_programs.names()
    }
    for name, manifest in manifests.items():
        assert manifest["kind"] == KINDS.get(name, "Workflow")
        assert argo_schema.problems(manifest) == [], name


@pytest.mark.golden
@pytest.mark.parametrize("name", WITH_GOLDEN)
def test_the_manifest_is_the_golden_one(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDENS / f"{name}.yaml", compiled(name))


@pytest.mark.slow
@pytest.mark.usefixtures("oracle")
def test_argo_lint_takes_the_manifests(tmp_path: Path) -> None:
    files = []
    for name in ancestor_programs.names():
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(compiled(name, kind=KINDS.get(name)))
    verdicts = argo_oracle.lint(files)
    assert {verdict.file.stem: verdict.errors for verdict in verdicts} == dict.fromkeys(
        ancestor_programs.names(), ()
    )


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("name", sorted(outcomes().keys() - LARGE))
def test_argo_gives_the_stated_outcome(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "state"
    shared.mkdir()
    ancestor_programs.set_folder(monkeypatch, shared)
    expected = outcomes()[name]
    config_maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}
        for name, data in expected.config_maps.items()
    ]
    workflow = resolve_defaults(ancestor_programs.load(name).to_ir())
    made = dump_all([*config_maps, *accounts_of(workflow)])
    run = argo_oracle.run(
        f"{made}---\n{compiled(name, kind='Workflow')}",
        work_dir=tmp_path / "run",
        secrets=expected.secrets,
        shared=[shared],
    )
    outcome = argo_outcome.Outcome(workflow, run)
    assert outcome.states == expected.states, (run.message, outcome.messages)
    assert outcome.status == expected.status
    printed = sorted(pod.stdout.removesuffix("\n") for pod in run.pods)
    told = [[text] if isinstance(text, str) else text for text in expected.prints.values()]
    assert printed == sorted(text for texts in told for text in texts)
