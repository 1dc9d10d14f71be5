"""Every feature that Argo is declared to do becomes a manifest that the API server takes."""

from __future__ import annotations

import json

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target, Unsupported, unsupported_uses
from couler.ir.defaults import resolve_defaults
from couler.ir.features import Feature
from tests.support import argo_schema
from tests.support.feature_samples import FEATURE_SAMPLES

BACKEND = ArgoBackend()
CAPABILITIES = BACKEND.capabilities(Target())


def test_every_feature_is_declared() -> None:
    assert set(CAPABILITIES) == set(Feature)


def test_what_is_declared_of_a_feature_is_what_becomes_of_its_sample() -> None:
    compiled = {}
    for feature, workflow in FEATURE_SAMPLES.items():
        found = unsupported_uses(workflow, BACKEND, Target(), {})
        refused = {one.message.split(" cannot do ")[1].split(",")[0] for one in found}
        if isinstance(CAPABILITIES[feature], Unsupported):
            assert feature.value in refused
            continue
        assert refused == set(), feature
        resolved = resolve_defaults(workflow)
        assert list(BACKEND.check(resolved, Target())) == [], feature
        compiled[feature] = BACKEND.compile(resolved, Target(), format="json").to_text()
    for feature, text in compiled.items():
        assert argo_schema.problems(json.loads(text)) == [], feature
