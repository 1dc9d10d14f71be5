"""What the pass `profile` fills, by what, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from couler.errors import EngineOptionError
from couler.ir.cachekey import definition_digest
from couler.ir.policies import Profile
from couler.ir.values import Literal
from couler.ir.walk import all_steps
from couler.ir.workflow import Container, ExitHandler, Foreach, Group, Step, Suspend, Workflow
from couler.optimizers.base import History, Measured, PassContext
from couler.optimizers.passes.profile import FillProfiles
from couler.optimizers.pipeline import PassLog, Pipeline, read_pass
from tests.support.strategies import workflows


def step(name: str, profile: Profile | None = None, **fields: object) -> Step:
    return Step.model_validate(
        {"name": name, "action": Container(image="busybox"), "profile": profile, **fields}
    )


def filled(
    *steps: Step, history: History | None = None, pass_: FillProfiles | None = None
) -> tuple[dict[str, Profile | None], PassLog]:
    workflow = Workflow(name="w", steps=steps)
    planned, log = Pipeline((pass_ or FillProfiles(),)).run(workflow, history=history)
    return {one.name: one.profile for one in all_steps(planned)}, log


def history(**measured: Profile) -> History:
    return lambda: measured


def test_earlier_runs_are_asked_once_and_only_for_what_is_open() -> None:
    asked: list[int] = []

    def ask() -> Mapping[str, Profile]:
        asked.append(1)
        return {}

    filled(step("a", Profile(seconds=1, output_bytes=0)), history=ask)
    assert asked == []
    filled(step("a"), step("b"), history=ask)
    assert asked == [1]


def test_throughput_is_an_option() -> None:
    pass_ = read_pass("profile{throughput_ops_per_s=2e12}")
    assert pass_ == FillProfiles(2e12)
    profiles, log = filled(step("a", Profile(operations=1e12)), pass_=FillProfiles(2e12))
    assert profiles["a"] == Profile(seconds=0.5, operations=1e12)
    assert log.records[0].step_reasons["a"] == "0.5 s by 1e12 operations at 2e12/s."


@pytest.mark.parametrize("rate", ["0", "-1"])
def test_a_throughput_that_cannot_be(rate: str) -> None:
    with pytest.raises(EngineOptionError, match="throughput_ops_per_s is above 0"):
        read_pass(f"profile{{throughput_ops_per_s={rate}}}")


def test_a_step_of_no_operations_takes_no_time() -> None:
    profiles, _ = filled(step("a", Profile(operations=0)))
    assert profiles["a"] == Profile(seconds=0, operations=0)


def test_steps_inside_of_groups_and_exit_handlers_are_filled_and_groups_and_pauses_are_not() -> (
    None
):
    inner = step("fit", Profile(operations=1e9))
    workflow = Workflow(
        name="w",
        steps=(
            step("g", action=Group(steps=(inner,))),
            step(
                "each", Profile(operations=2e9), foreach=Foreach(over={"i": Literal(value=(1, 2))})
            ),
            step("wait", action=Suspend(seconds=60)),
        ),
        exit_handlers=(ExitHandler(name="end", on="any", steps=(step("tell"),)),),
    )
    asked = history(
        **{"g/fit": Profile(seconds=5), "g": Profile(seconds=6), "wait": Measured(seconds=7)}
    )
    planned, log = Pipeline((FillProfiles(),)).run(workflow, history=asked)
    profiles = {one.name: one.profile for one in all_steps(planned)}
    assert profiles == {
        "g": None,
        "fit": Profile(seconds=5, operations=1e9),
        "each": Profile(seconds=2, operations=2e9),
        "wait": None,
        "tell": None,
    }
    assert len(log.records[0].step_reasons) == 3


@settings(max_examples=8)
@given(workflows())
def test_only_profiles_change_and_a_second_time_changes_nothing(workflow: Workflow) -> None:
    measured = Measured(seconds=5, output_bytes=9, runs=2)

    def everything() -> Mapping[str, Profile]:
        return {one.name: measured for one in all_steps(workflow)}

    context = PassContext(history=everything)
    once = FillProfiles().run(workflow, context)
    assert FillProfiles().run(once, PassContext(history=everything)) is once

    volumes = {volume.name: volume for volume in workflow.volumes}
    for before, after in zip(all_steps(workflow), all_steps(once), strict=True):
        if not isinstance(before.action, Group):  # these have no cache
            assert definition_digest(before, volumes) == definition_digest(after, volumes)
            assert after.model_copy(update={"profile": before.profile}) == before
