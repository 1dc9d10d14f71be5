"""docs/argo-coverage.md: what it says of each field of Argo is so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import argo_api, argo_coverage, argo_schema

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(
        not argo_schema.available(), reason="Argo's schemas are not beside this checkout"
    ),
]

SAID = argo_coverage.declared()


@pytest.fixture(scope="module", autouse=True)
def _in_the_checkout() -> None:
    if not argo_coverage.PAGE.parent.is_dir():
        pytest.skip("the docs are not beside these tests")


def shown(fields: object) -> list[str]:
    return sorted(".".join(field) for field in fields)  # type: ignore[attr-defined]  # any sets


@pytest.mark.parametrize(("kind", "fields"), [("Workflow", 482), ("CronWorkflow", 494)])
def test_the_fields_of_argo_are_all_there(kind: str, fields: int) -> None:
    """As many as Argo 4.1's own schema of definitions has."""
    assert len(argo_api.fields(kind)) == fields


def test_every_field_that_is_declared_exists() -> None:
    assert shown(SAID.keys() - argo_api.fields("CronWorkflow")) == []


def test_every_typed_field_says_where_it_comes_from() -> None:
    """If this fails, name the IR of the field in tests/support/argo_fields."""
    with_path = {field for field, text in SAID.items() if argo_coverage.reason_of(text) is None}
    assert shown(argo_coverage.typed() - with_path) == []


def test_every_field_with_a_path_is_stated_by_some_workflow() -> None:
    """If this fails, add a workflow that states the field to tests/support/argo_samples.py."""
    with_path = {field for field, text in SAID.items() if argo_coverage.reason_of(text) is None}
    assert shown(with_path - argo_coverage.typed()) == []


def test_every_override_is_shown_by_some_workflow() -> None:
    by_override = {
        field for field, text in SAID.items() if argo_coverage.reason_of(text) == "engine"
    }
    assert shown(by_override - argo_coverage.overridden()) == []


def test_the_ir_has_what_a_field_comes_from() -> None:
    for field, text in SAID.items():
        if argo_coverage.reason_of(text) is not None:
            assert text.partition(":")[2].strip(), field
            continue
        for path in argo_coverage.paths_of(text):
            assert argo_coverage.resolves(path), (field, path)


@pytest.mark.parametrize(
    "path", ["Step", "Step.nothing", "Step.retry.nothing", "Nothing.name", "Target.nothing", ""]
)
def test_paths_that_do_not_exist_are_found(path: str) -> None:
    assert not argo_coverage.resolves(path)


@pytest.mark.slow
def test_overrides_are_not_counted() -> None:
    """A sample of the features states host aliases by an override alone."""
    field = ("Template", "hostAliases")
    assert field in argo_coverage.overridden() or field in argo_coverage.typed()
    trees = dict(argo_coverage.emissions())
    assert ("Template", "hostAliases") not in argo_api.emitted(trees["feature/engine-overrides"])


@pytest.mark.slow
def test_the_api_server_takes_the_samples() -> None:
    for name, tree in argo_coverage.emissions() + argo_coverage.emissions(overrides=True):
        if name.startswith("sample/"):
            assert argo_schema.problems(tree) == [], name


@pytest.mark.golden
def test_the_page_is_up_to_date(golden: Callable[[Path, str], None]) -> None:
    golden(argo_coverage.PAGE, argo_coverage.page())
