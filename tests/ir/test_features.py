"""Every feature has a minimal workflow that uses it."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from couler.ir.features import Feature
from couler.ir.uses import features, find_uses
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from tests.support.feature_samples import FEATURE_SAMPLES
from tests.support.sample_flows import echo, flow, group
from tests.support.strategies import workflows


def test_every_feature_has_a_sample_and_every_sample_a_feature() -> None:
    assert set(FEATURE_SAMPLES) == set(Feature)


def test_a_sample_uses_its_feature_and_is_valid() -> None:
    for feature, workflow in FEATURE_SAMPLES.items():
        assert feature in features(workflow)
        assert verify(workflow) == (), feature


def test_features_of_plain_steps() -> None:
    assert features(flow(echo("a"), echo("b", depends_on=("a",)))) == {Feature.CONTAINER}


def test_a_use_names_the_path_of_its_step() -> None:
    uses = find_uses(flow(group("g", group("h", echo("a")))))
    assert [(use.feature, use.step) for use in uses] == [
        (Feature.GROUP, "g"),
        (Feature.GROUP, "g/h"),
        (Feature.CONTAINER, "g/h/a"),
    ]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=10)
@given(workflows())
def test_features_are_those_of_all_uses(workflow: Workflow) -> None:
    used = features(workflow)
    assert used == {use.feature for use in find_uses(workflow)}
    assert all(features(workflow, frozenset({one})) == used & {one} for one in Feature)


def test_each_feature_can_be_asked_for_alone() -> None:
    for feature, workflow in FEATURE_SAMPLES.items():
        assert features(workflow, frozenset({feature})) == {feature}
