"""Every feature that Airflow is declared to do becomes a file of Python."""

from __future__ import annotations

import ast
import enum
import runpy
from collections.abc import Mapping

import pytest

from couler.backends.airflow import AirflowBackend, capabilities
from couler.backends.base import Capabilities, Lowered, Unsupported, unsupported_uses
from couler.ir import features
from couler.ir.defaults import resolve_defaults
from couler.ir.features import Feature
from tests.support.airflow_target import with_files
from tests.support.feature_samples import FEATURE_SAMPLES

BACKEND = AirflowBackend()
TARGET = with_files()
CAPABILITIES = BACKEND.capabilities(TARGET)


def test_every_feature_is_declared() -> None:
    assert set(CAPABILITIES) == set(Feature)


def test_a_feature_that_is_added_is_not_declared_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above then fails until somebody decides what Airflow can do."""
    members = {feature.name: feature.value for feature in Feature}
    more = enum.StrEnum("Feature", {**members, "ADDED": "added"})  # type: ignore[misc]  # made here
    monkeypatch.setattr(features, "Feature", more)
    declared = runpy.run_path(str(capabilities.__file__))
    assert set(declared["CAPABILITIES"]) == set(Feature)


def tables() -> list[Capabilities]:
    """The tables that the declaration is put together from."""
    private = [one for name, one in vars(capabilities).items() if name.startswith("_")]
    found = [one for one in private if isinstance(one, Mapping) and one]
    return [one for one in found if all(isinstance(key, Feature) for key in one)]


def test_no_feature_is_declared_twice() -> None:
    named = [feature for table in tables() for feature in table]
    assert named
    assert len(named) == len(set(named))


@pytest.mark.parametrize("feature", Feature)
def test_what_is_said_of_a_feature_is_whole(feature: Feature) -> None:
    support = CAPABILITIES[feature]
    if isinstance(support, Lowered):
        assert support.by
    if isinstance(support, Unsupported):
        assert ". " in support.reason, "says what to do instead"
        assert not support.reason.endswith("."), "stands in a sentence that goes on"


@pytest.mark.parametrize("feature", Feature)
def test_a_workflow_with_the_feature(feature: Feature) -> None:
    workflow = FEATURE_SAMPLES[feature]
    found = unsupported_uses(workflow, BACKEND, TARGET, {})
    refused = {one.message.split(" cannot do ")[1].split(",")[0] for one in found}
    if isinstance(CAPABILITIES[feature], Unsupported):
        assert feature.value in refused
        return
    if refused:
        pytest.skip(f"its sample also has {', '.join(sorted(refused))}")
    resolved = resolve_defaults(workflow)
    assert [one for one in BACKEND.check(resolved, TARGET) if one.severity == "error"] == []
    text = BACKEND.compile(resolved, TARGET).to_text()
    tree = ast.parse(text)
    assert compile(tree, f"{workflow.name}.py", "exec")
    assert not any(name.partition(".")[0] == "couler" for name in imported(tree))


def imported(tree: ast.Module) -> set[str]:
    """Return the modules that a file imports, wherever it does so."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found
