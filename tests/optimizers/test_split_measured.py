"""Parts are taken only if what they come to, as the engine measures it, is within its limits."""

from __future__ import annotations

import re

import pytest

from couler.errors import InvalidWorkflowError
from couler.ir.sizes import Costs, Footprint, Limits, Over
from couler.ir.workflow import Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.split import Split
from tests.support.splitting import (
    Engine,
    layers,
    over_limits,
    parts_of,
    step,
)


def test_groups_are_made_smaller_until_they_fit_as_measured() -> None:
    engine = Engine(Limits(scope_steps=30), wait_steps=2)  # of which the limits say nothing
    made = Split().run(Workflow(name="w", steps=layers(20, 7)), PassContext(weigh=engine.weigh))
    assert len(parts_of(made)) > 5
    assert over_limits(made, engine) == []


def test_runs_are_made_smaller_until_they_fit_as_measured() -> None:
    limits = Limits(scope_steps=20, run_bytes=9_000, takes_runs=True)
    engine = Engine(limits, group_bytes=1_500)
    context = PassContext(weigh=engine.weigh)
    made = Split().run(Workflow(name="w", steps=layers(20, 7)), context)
    assert len({one.part.run for one in made.steps if one.part}) > 2
    assert over_limits(made, engine) == []
    told = "The workflow has 14,000 bytes as stored, and the engine takes 9,000 in one run: "
    assert context.reason.startswith(told)


def test_groups_that_make_one_run_too_large_become_runs_as_measured() -> None:
    limits = Limits(scope_steps=20, run_bytes=16_000, takes_runs=True)
    engine = Engine(limits, group_bytes=1_000)  # 70 steps in 4 groups, and 140 in 8
    several = Split().run(Workflow(name="w", steps=layers(20, 7)), PassContext(weigh=engine.weigh))
    assert len({one.part.run for one in several.steps if one.part}) > 1
    assert over_limits(several, engine) == []
    one = Split().run(Workflow(name="w", steps=layers(10, 7)), PassContext(weigh=engine.weigh))
    assert {one.part.run for one in one.steps if one.part} == {None}


def test_definitions_that_groups_need_are_measured() -> None:
    limits = Limits(scope_steps=10, run_definitions=10, takes_runs=True)
    engine = Engine(limits, group_definitions=3)
    made = Split().run(Workflow(name="w", steps=layers(12, 7)), PassContext(weigh=engine.weigh))
    assert over_limits(made, engine) == []
    assert len({one.part.run for one in made.steps if one.part}) > 1


def test_fewer_runs_are_made_if_the_first_has_no_room_for_them() -> None:
    limits = Limits(run_bytes=3_000, run_definitions=20, takes_runs=True)
    engine = Engine(limits, per_run=2)
    steps = tuple(step(f"s{n}", *([f"s{n - 3}"] if n > 2 else [])) for n in range(230))
    context = PassContext(weigh=engine.weigh)
    made = Split(method="levels").run(Workflow(name="w", steps=steps), context)
    assert over_limits(made, engine) == []
    few = engine._replace(per_run=3)
    context = PassContext(weigh=few.weigh)
    workflow = Workflow(name="w", steps=steps)
    assert Split(method="levels").run(workflow, context) is workflow
    assert "parts; at most 6 can be had" in context.reason


def test_values_between_runs_count_in_the_first_run() -> None:
    """Wide layers that are cut everywhere: no way hands on so little that it fits."""
    limits = Limits(run_bytes=4_000, takes_runs=True)
    engine = Engine(limits, between=100)
    workflow = Workflow(name="w", steps=layers(8, 60))
    context = PassContext(weigh=engine.weigh)
    assert Split().run(workflow, context) is workflow
    assert re.search(
        r"is not split, as no split fits: the run that starts the others would take [\d,]+ of "
        r"4,000 bytes, [\d,]+ of them for what is handed on between runs \([\d,]+ values, and "
        r"how steps end\)\.",
        context.reason,
    )
    with pytest.raises(InvalidWorkflowError, match="the run that starts the others") as caught:
        Split(run_steps=40).run(workflow, PassContext(weigh=engine.weigh))
    assert [problem.code for problem in caught.value.diagnostics] == ["CLR541"]


def test_runs_are_made_another_way_where_that_hands_on_less() -> None:
    """Chains with a start and an end: bands cut all of them, an order along them but a few."""
    chains, length = 12, 20
    steps = (
        step("first"),
        *(
            step(f"c{c}-{n}", reads=[f"c{c}-{n - 1}" if n else "first"])
            for c in range(chains)
            for n in range(length)
        ),
        step("last", reads=[f"c{c}-{length - 1}" for c in range(chains)]),
    )
    limits = Limits(run_bytes=4_000, takes_runs=True)
    engine = Engine(limits, between=100)
    tried: list[Workflow] = []

    def weigh(workflow: Workflow) -> Footprint:
        tried.append(workflow)
        return engine.weigh(workflow)

    made = Split().run(Workflow(name="w", steps=steps), PassContext(weigh=weigh))
    assert over_limits(made, engine) == []
    assert len({one.part.run for one in made.steps if one.part}) >= 7
    assert over_limits(tried[1], engine)[0].between_runs > 0


def test_what_is_over_without_parts_is_left_to_the_engines_check() -> None:
    over = Over("run", "elsewhere", "values", 600, 500)

    def weigh(workflow: Workflow) -> Footprint:
        nothing = Costs({}, {}, 0)
        limits = Limits(scope_steps=30)
        return Footprint(limits, lambda: 1, lambda: 1, lambda: nothing, lambda: (over,))

    made = Split().run(Workflow(name="w", steps=layers(10, 7)), PassContext(weigh=weigh))
    assert len(parts_of(made)) > 2
