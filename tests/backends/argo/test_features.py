"""Every feature that Argo is declared to do becomes a manifest that the API server takes."""

from __future__ import annotations

import json

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target, Unsupported, unsupported_uses
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.features import Feature
from tests.support import argo_schema
from tests.support.feature_samples import FEATURE_SAMPLES

BACKEND = ArgoBackend()
CAPABILITIES = BACKEND.capabilities(Target())


def test_every_feature_is_declared() -> None:
    assert set(CAPABILITIES) == set(Feature)


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
