"""What the pass `place` does with steps that have an affinity of their own."""

from __future__ import annotations

from functools import partial

import pytest

from couler.cluster.model import Cluster
from couler.ir.base import freeze_json
from couler.ir.policies import Placement, Resources
from tests.support import placement
from tests.support.placement import machine, step

LAB = Cluster((machine("c1", "cpu"), machine("c2", "cpu"), machine("m1", "memory", gib=256)))
placed = partial(placement.placed, cluster=LAB)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("affinity", "why"),
    [
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}},
            "it has an affinity already, which requires machines",
        ),
        (
            {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}},
            "its affinity requires other pods beside it, and where these run is not known",
        ),
    ],
    ids=["nodes", "pods"],
)
def test_an_affinity_that_requires_is_left_as_it_is(affinity: dict[str, object], why: str) -> None:
    before = step("a", placement=Placement(affinity=freeze_json(affinity)))
    found, context = placed(before, step("b", "a"))
    assert found["a"] is before
    assert context.step_reasons["a"] == f"It is left as it is: {why}."
    assert found["b"].placement is not None


def test_pods_that_must_stay_apart_are_not_bound_to_one_machine() -> None:
    own = Placement(affinity=freeze_json({"podAntiAffinity": {REQUIRED: [{"topologyKey": "x"}]}}))
    before = step("a", placement=own, resources=Resources(memory="100Gi"))
    found, context = placed(before)
    assert found["a"] is before
    assert "one machine alone" in context.step_reasons["a"]
