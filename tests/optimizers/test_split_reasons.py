"""What `split` says of what it did."""

from __future__ import annotations

import re
import typing as t

import pytest

from couler.errors import InvalidWorkflowError
from couler.ir.policies import Profile
from couler.ir.sizes import Limits
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.split import Split
from tests.support.splitting import (
    Engine,
    layers,
    over_limits,
    step,
    weighed,
)


def test_edges_between_groups_are_counted() -> None:
    chain = [step("a0", profile=Profile(seconds=5))]
    chain += [step(f"a{n}", f"a{n - 1}", profile=Profile(seconds=5)) for n in range(1, 6)]
    context = PassContext()
    Split(group_steps=3).run(Workflow(name="w", steps=tuple(chain)), context)
    assert context.reason.startswith(
        "The workflow has 6 steps, and at most 3 are to be in a group: 2 groups of at most 3. 1 of "
        "5 edges leads from one group to another."
    )


@pytest.mark.parametrize(
    ("options", "limits", "why"),
    [
        ({}, {"scope_steps": 50}, "70 steps, and the engine takes 50 in one: "),
        (
            {"group_steps": 20},
            {"scope_steps": 50},
            "70 steps, and the engine takes 50 in one and at most 20 are to be in a group: ",
        ),
        ({"group_steps": 60}, {"scope_steps": 50}, "70 steps, and the engine takes 50 in one: "),
        (
            {"group_steps": 20},
            {"scope_steps": 90},
            "70 steps, and at most 20 are to be in a group: ",
        ),
        ({"run_steps": 30}, {}, "70 steps, and at most 30 are to be in a run: "),
        (
            {"run_pods": 30},
            {},
            "70 steps that run a process, and at most 30 are to be in a run: ",
        ),
        (
            {"run_bytes": 5_000},
            {"run_bytes": 6_000, "takes_runs": True},
            "7,000 bytes as stored, and at most 5,000 are to be in a run: ",
        ),
        (
            {"run_bytes": 8_000},
            {"run_bytes": 6_000, "takes_runs": True},
            "7,000 bytes as stored, and the engine takes 6,000 in one run: ",
        ),
    ],
)
def test_what_decided_is_named(options: t.Any, limits: t.Any, why: str) -> None:
    context = weighed(Limits(**limits))
    Split(**options).run(Workflow(name="w", steps=layers(10, 7)), context)
    assert context.reason.startswith(f"The workflow has {why}")


def test_groups_that_make_runs_needed_are_named() -> None:
    limits = Limits(scope_steps=20, run_bytes=7_500, takes_runs=True)
    workflow = Workflow(name="w", steps=layers(10, 7))
    context = weighed(limits, group_bytes=1_000)
    Split().run(workflow, context)
    told = r"The workflow would take [\d,]+ of 7,500 bytes, with the groups that it needs: "
    assert re.match(told, context.reason)
    few = Workflow(name="w", steps=tuple(step(f"s{n}") for n in range(101)))
    context = weighed(Limits(scope_steps=10, takes_runs=True))
    Split().run(few, context)
    told = "Its groups do not fit into one run (the budget needs 11 parts; at most 10 can be had): "
    assert context.reason.startswith(told)
    many = Engine(Limits(scope_steps=10, takes_runs=True))
    made = Split().run(few, PassContext(weigh=many.weigh))
    assert over_limits(made, many) == []
    assert len({one.part.run for one in made.steps if one.part}) > 1


def test_a_bound_that_makes_groups_run_in_turn_is_told_or_spares_them() -> None:
    def bounded(count: int) -> Workflow:
        inner = tuple(step(f"i{n}") for n in range(count))
        group = Step(name="g", action=Group(steps=inner), max_parallel=3)
        return Workflow(name="w", steps=(group,))

    limits = Limits(scope_steps=20, bounded_parts_in_turn=True)
    context = weighed(limits)
    made = Split().run(bounded(25), context)
    assert isinstance(made.steps[0].action, Group)
    assert all(one.part for one in made.steps[0].action.steps)
    told = (
        "At most 3 of its steps run at once (max_parallel), and the engine keeps that by running "
        "one group after the other, whether or not they wait for each other."
    )
    assert told in context.reason
    context = weighed(limits)
    workflow = bounded(15)
    assert Split(group_steps=10).run(workflow, context) is workflow
    assert context.reason == (
        'The group "g" is not split: at most 3 of its steps run at once (max_parallel), and the '
        "engine would run one group after the other."
    )
    made = Split(group_steps=10).run(workflow, weighed(Limits(scope_steps=20)))
    assert made is not workflow


def test_a_bound_of_the_workflow_is_told_to_hold_for_each_run() -> None:
    workflow = Workflow(name="w", steps=layers(10, 7), max_parallel=4)
    context = weighed(Limits(run_bytes=2_000, takes_runs=True))
    Split().run(workflow, context)
    told = "That at most 4 steps run at once (max_parallel) holds for each run by itself."
    assert told in context.reason


@pytest.mark.parametrize("option", ["group_steps", "run_steps"])
def test_a_daemon_is_told_as_the_cause(option: str) -> None:
    users = tuple(step(f"u{n}").model_copy(update={"depends_on": ("db",)}) for n in range(10))
    workflow = Workflow(
        name="w", steps=(step("db").model_copy(update={"daemon": True}), *users, step("other"))
    )
    told = (
        'the workflow cannot be split: the daemon "db" and all that wait for it stay in one part: '
        "11 steps are over the budget of 5 in sum. Raise the budget"
    )
    with pytest.raises(InvalidWorkflowError, match=told):
        Split(**{option: 5}).run(workflow, PassContext())
