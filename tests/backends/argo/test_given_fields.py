"""Walks pass over fields that a step was not given; none of them passes over one that it was.

A step that is told all its defaults is looked at whole, so it must give the same as the step that
was not told them.
"""

from __future__ import annotations

import typing as t

from couler.backends.argo.check import check
from couler.backends.argo.manifest import ManifestOptions, manifest
from couler.ir.base import Node
from couler.ir.defaults import resolve_defaults
from couler.ir.uses import find_uses, needs
from couler.ir.verify import verify
from couler.ir.walk import predecessors, scopes
from couler.ir.workflow import Workflow
from tests.support.argo_samples import ARGO_SAMPLES
from tests.support.feature_samples import FEATURE_SAMPLES

WORKFLOWS = {
    **{f"feature: {feature.value}": sample for feature, sample in FEATURE_SAMPLES.items()},
    **{f"argo: {name}": sample.workflow for name, sample in ARGO_SAMPLES.items()},
}


def telling_all(value: t.Any) -> t.Any:
    """Return a value of the IR whose nodes were given all their fields."""
    if isinstance(value, tuple):
        return tuple(map(telling_all, value))
    if not isinstance(value, Node):
        return value
    fields = {name: telling_all(getattr(value, name)) for name in type(value).model_fields}
    return type(value).model_construct(**fields)


def test_a_step_that_was_told_its_defaults_gives_the_same() -> None:
    for name, sample in WORKFLOWS.items():
        workflow = resolve_defaults(sample)
        told = telling_all(workflow)
        assert told == workflow, name
        assert _seen(told) == _seen(workflow), name


def _seen(workflow: Workflow) -> dict[str, t.Any]:
    """What the walks over a workflow find."""
    found: dict[str, t.Any] = {
        "uses": list(find_uses(workflow)),
        "verify": verify(workflow),
        "needs": needs(workflow),
        "order": [[predecessors(step) for step in scope.steps] for scope in scopes(workflow)],
    }
    if not found["verify"]:
        found["check"] = list(check(workflow))
    if not found["verify"] and not found["check"]:
        found["manifest"] = manifest(workflow, ManifestOptions()).tree
    return found
