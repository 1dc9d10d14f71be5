"""Every feature that Argo is declared to do becomes a manifest that the API server takes."""

from __future__ import annotations

import enum
import json
import runpy

import pytest

from couler.backends.argo import ArgoBackend, capabilities
from couler.backends.base import Target, Unsupported, unsupported_uses
from couler.ir import features
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.features import Feature
from tests.support import argo_schema
from tests.support.feature_samples import FEATURE_SAMPLES

BACKEND = ArgoBackend()
CAPABILITIES = BACKEND.capabilities(Target())


def test_every_feature_is_declared() -> None:
    assert set(CAPABILITIES) == set(Feature)


def test_a_feature_that_is_added_is_not_declared_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above then fails until somebody decides what Argo can do."""
    members = {feature.name: feature.value for feature in Feature}
    more = enum.StrEnum("Feature", {**members, "ADDED": "added"})  # type: ignore[misc]  # made here
    monkeypatch.setattr(features, "Feature", more)
    declared = runpy.run_path(str(capabilities.__file__))
    assert set(declared["CAPABILITIES"]) == set(Feature)


def test_no_feature_is_declared_twice() -> None:
    tables = (capabilities._NATIVE, capabilities._LOWERED, capabilities._UNSUPPORTED)
    named = [feature for table in tables for feature in table]
    assert len(named) == len(set(named))


@pytest.mark.parametrize("feature", Feature)
def test_a_workflow_with_the_feature(feature: Feature) -> None:
    workflow = FEATURE_SAMPLES[feature]
    refused = {d.message.split(" cannot do ")[1].split(",")[0] for d in refusals(feature)}
    if isinstance(CAPABILITIES[feature], Unsupported):
        assert feature.value in refused
        return
    assert refused == set()
    resolved = resolve_defaults(workflow)
    assert list(BACKEND.check(resolved, Target())) == []
    text = BACKEND.compile(resolved, Target(), format="json").to_text()
    assert argo_schema.problems(json.loads(text)) == []


def refusals(feature: Feature) -> list[Diagnostic]:
    return list(unsupported_uses(FEATURE_SAMPLES[feature], BACKEND, Target(), {}))
