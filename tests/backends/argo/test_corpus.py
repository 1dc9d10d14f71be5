"""Every workflow of the corpus as a manifest of Argo: golden, valid, and as others read it."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.stages import diagnose
from couler.stages.checks import check_engine
from tests.backends.argo.absences import REFUSED
from tests.corpus import Case, cases
from tests.support import argo_schema
from tests.support.absences import corpus

GOLDENS = Path(__file__).parents[2] / "golden" / "argo"

BACKEND = ArgoBackend()
COMPILED = [case for case in cases() if case.name not in REFUSED]


def compiled(case: Case, *, format: str = "yaml", **options: t.Any) -> str:
    """Return a case's manifest; raise if Argo cannot do it."""
    target = Target(options=options)
    workflow = resolve_defaults(case.workflow)
    assert check_engine(workflow, BACKEND, target) == ()
    return BACKEND.compile(workflow, target, format=format).to_text()


@pytest.fixture(params=corpus(REFUSED))
def case(request: pytest.FixtureRequest) -> Case:
    return t.cast("Case", request.param)


def test_what_is_refused_is_declared_with_its_codes() -> None:
    found = {
        case.name: {diagnostic.code for diagnostic in diagnose(case.workflow, ["argo"])}
        for case in cases()
    }
    refused = {name: ", ".join(sorted(codes)) for name, codes in found.items() if codes}
    assert refused == {name: absence.reason for name, absence in REFUSED.items()}


@pytest.mark.golden
def test_the_manifest_is_the_golden_one(case: Case, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDENS / f"{case.name}.yaml", compiled(case))


def test_json_and_yaml_hold_the_same() -> None:
    for case in COMPILED:
        found = json.loads(compiled(case, format="json"))
        read = [*yaml.load_all(compiled(case), Loader=yaml.CSafeLoader)]
        assert _objects(found) == read, case.name
        assert (found["kind"] == "List") is (len(read) > 1), case.name


def _objects(found: t.Any) -> list[t.Any]:
    return list(found["items"]) if found["kind"] == "List" else [found]


def manifests(kind: str) -> Iterator[tuple[str, t.Any]]:
    """Yield all objects of all cases, each with the name of its case."""
    for case in COMPILED:
        for manifest in _objects(json.loads(compiled(case, format="json", kind=kind))):
            yield case.name, manifest


@pytest.mark.parametrize("kind", ["Workflow", "WorkflowTemplate"])
def test_the_api_server_takes_the_manifests(kind: str) -> None:
    for name, manifest in [*manifests(kind)]:  # all, also where there is no schema
        assert argo_schema.problems(manifest) == [], name


def test_hera_reads_and_writes_the_same() -> None:
    models = pytest.importorskip("hera.workflows.models")
    for name, manifest in manifests("Workflow"):
        model = getattr(models, manifest["kind"]).model_validate(manifest)
        written = json.loads(model.model_dump_json(exclude_none=True, by_alias=True))
        assert written == manifest, name
