"""Every workflow of the corpus as a manifest of Argo: golden, valid, and as others read it."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target, Unsupported, unsupported_uses
from couler.ir.defaults import resolve_defaults
from tests.corpus import Case, cases
from tests.support import argo_schema

GOLDENS = Path(__file__).parents[2] / "golden" / "argo"

BACKEND = ArgoBackend()

REFUSED = {"braces_in_data": {"CLR310"}}
"""Cases that are refused for their texts, with the codes."""


def compiled(case: Case, *, format: str = "yaml", **options: t.Any) -> str:
    """Return a case's manifest; skip a case that Argo cannot do, as it declares."""
    target = Target(options=options)
    refusals = list(unsupported_uses(case.workflow, BACKEND, target, {}))
    if refusals:
        pytest.skip(f"declared as unsupported: {refusals[0].message}")
    workflow = resolve_defaults(case.workflow)
    found = {diagnostic.code for diagnostic in BACKEND.check(workflow, target)}
    assert found == REFUSED.get(case.name, set())
    if found:
        pytest.skip(f"refused with {', '.join(found)}, as expected")
    return BACKEND.compile(workflow, target, format=format).to_text()


@pytest.fixture(params=cases(), ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return t.cast("Case", request.param)


@pytest.mark.golden
def test_the_manifest_is_the_golden_one(case: Case, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDENS / f"{case.name}.yaml", compiled(case))


def test_json_and_yaml_hold_the_same(case: Case) -> None:
    assert json.loads(compiled(case, format="json")) == yaml.safe_load(compiled(case))


@pytest.mark.parametrize("kind", ["Workflow", "WorkflowTemplate"])
def test_the_api_server_takes_the_manifest(case: Case, kind: str) -> None:
    manifest = json.loads(compiled(case, format="json", kind=kind))
    assert argo_schema.problems(manifest) == []


def test_hera_reads_and_writes_the_same(case: Case) -> None:
    models = pytest.importorskip("hera.workflows.models")
    manifest = json.loads(compiled(case, format="json", kind="Workflow"))
    model = models.Workflow.model_validate(manifest)
    assert json.loads(model.model_dump_json(exclude_none=True, by_alias=True)) == manifest


def test_few_workflows_are_beyond_argo() -> None:
    beyond = [
        case.name
        for case in cases()
        if list(unsupported_uses(case.workflow, BACKEND, Target(), {}))
    ]
    unsupported = [
        support
        for support in BACKEND.capabilities(Target()).values()
        if isinstance(support, Unsupported)
    ]
    assert len(beyond) <= 2 * len(unsupported)
