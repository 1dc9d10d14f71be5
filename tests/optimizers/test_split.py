"""The pass `split`: which steps go together, and within what budget."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from hypothesis import given, settings, strategies as st

from couler.errors import EngineOptionError, InvalidWorkflowError
from couler.ir.serialize import write_json
from couler.ir.sizes import Limits
from couler.ir.verify import verify
from couler.ir.walk import predecessors
from couler.ir.workflow import ExitHandler, Group, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.split import Split
from couler.optimizers.pipeline import read_pass
from tests.support.splitting import (
    Engine,
    layers,
    over_limits,
    parts_of,
    step,
    unlabelled,
    weighed,
    workflows,
)


def test_what_is_small_enough_stays_the_same_object() -> None:
    workflow = Workflow(name="w", steps=layers(2, 5))
    for context in (PassContext(), weighed(Limits()), weighed(Limits(scope_steps=10))):
        assert Split().run(workflow, context) is workflow
        assert context.reason == ""


def test_what_a_part_takes_besides_its_steps_is_counted() -> None:
    limits = Limits(scope_steps=30, steps_in_part=5, steps_per_wait=2)
    made = Split().run(Workflow(name="w", steps=layers(10, 7)), weighed(limits))
    steps = {one.name: one for one in made.steps}
    for names in parts_of(made).values():
        outside = {b for n in names for b in predecessors(steps[n]) if b not in names}
        waiting = [n for n in names if set(predecessors(steps[n])) - set(names)]
        assert len(names) + 5 + 2 * min(len(outside), len(waiting)) <= 30


def test_values_that_a_part_reads_are_limited() -> None:
    fan = tuple(step(f"s{n}") for n in range(300))
    readers = tuple(step(f"r{n}", reads=[f"s{n + k}" for k in range(10)]) for n in range(290))
    limits = Limits(scope_steps=100, values_per_part=60)
    made = Split().run(Workflow(name="w", steps=(*fan, *readers)), weighed(limits))
    steps = {one.name: one for one in made.steps}
    for names in parts_of(made).values():
        outside = {b for n in names for b in predecessors(steps[n]) if b not in names}
        assert len(outside) <= 60
    join = step("join", reads=[one.name for one in fan])
    context = weighed(Limits(scope_steps=100, values_per_part=40))
    workflow = Workflow(name="w", steps=(*fan, join))
    assert Split().run(workflow, context) is workflow
    assert "more from outside of it than the engine can hand on" in context.reason


def test_scopes_inside_and_exit_handlers_are_divided_by_themselves() -> None:
    inner = tuple(step(f"i{n}") for n in range(25))
    group = Step(name="g", action=Group(steps=inner))
    handler = ExitHandler(name="h", on="any", steps=tuple(step(f"h{n}") for n in range(25)))
    workflow = Workflow(name="w", steps=(group,), exit_handlers=(handler,))
    context = weighed(Limits(scope_steps=10))
    made = Split().run(workflow, context)
    assert made.steps[0].part is None
    action = made.steps[0].action
    assert isinstance(action, Group)
    for steps in (action.steps, made.exit_handlers[0].steps):
        groups = [one.part.group for one in steps if one.part is not None]
        assert len(groups) == 25
        assert len(set(groups)) == 3
    assert 'The group "g" has 25 steps' in context.reason
    assert 'The exit handler "h" has 25 steps' in context.reason


def test_a_second_time_changes_nothing() -> None:
    once = Split().run(Workflow(name="w", steps=layers(10, 7)), weighed(Limits(scope_steps=30)))
    context = weighed(Limits(scope_steps=30))
    assert Split().run(once, context) is once
    assert context.reason == "The workflow has parts already."


def test_a_workflow_that_the_engine_cannot_run_is_left_to_its_check() -> None:
    workflow = Workflow(name="w", steps=layers(10, 7))
    assert Split(group_steps=5).run(workflow, PassContext(weigh=lambda _: None)) is workflow


def test_what_no_part_can_hold_is_refused_by_name() -> None:
    large = Step(name="g", action=Group(steps=tuple(step(f"i{k}") for k in range(9))))
    workflow = Workflow(name="w", steps=(step("a"), large, step("b", "g")))
    with pytest.raises(InvalidWorkflowError) as caught:
        Split(run_steps=5).run(workflow, PassContext())
    [problem] = caught.value.diagnostics
    assert (problem.code, problem.step) == ("CLR540", "g")
    many = Workflow(name="w", steps=tuple(step(f"s{n}") for n in range(30)))
    with pytest.raises(InvalidWorkflowError) as caught:
        Split(group_steps=2).run(many, weighed(Limits(scope_steps=10)))
    assert [problem.code for problem in caught.value.diagnostics] == ["CLR541"]


def test_a_daemon_stays_with_those_that_wait_for_it() -> None:
    steps = (
        step("d", daemon=True),
        *(step(f"s{n}", "d" if n in (3, 17) else "s0") for n in range(1, 20)),
        step("s0"),
    )
    made = Split(group_steps=6).run(Workflow(name="w", steps=steps), PassContext())
    part = {one.name: one.part for one in made.steps}
    assert part["d"] == part["s3"] == part["s17"]


@pytest.mark.parametrize("method", ["bands", "levels", "order"])
def test_all_methods_give_parts_that_verify(method: t.Any) -> None:
    workflow = Workflow(name="w", steps=layers(8, 9))
    made = Split(group_steps=12, method=method).run(workflow, PassContext())
    assert not [problem for problem in verify(made) if problem.severity == "error"]
    assert len(parts_of(made)) > 5


def test_the_walk_of_the_paper_makes_one_part_of_a_circle_or_says_which_do_not_fit() -> None:
    chains = [step(f"a{n}", *([f"a{n - 2}"] if n > 1 else [])) for n in range(12)]
    workflow = Workflow(name="w", steps=tuple(chains))
    made = Split(group_steps=6, method="dfs").run(workflow, PassContext())
    assert [len(names) for names in parts_of(made).values()] == [6, 6]
    with pytest.raises(InvalidWorkflowError, match="wait for each other") as caught:
        Split(group_steps=12, method="dfs").run(
            Workflow(name="w", steps=layers(8, 9)), PassContext()
        )
    assert [problem.code for problem in caught.value.diagnostics] == ["CLR540"]


@settings(max_examples=15)
@given(workflows(), st.integers(1, 12), st.integers(2, 30))
def test_any_graph_is_split_within_the_budget(workflow: Workflow, group: int, run: int) -> None:
    made = Split(group_steps=group, run_steps=run).run(workflow, PassContext())
    assert unlabelled(made) == workflow
    assert not [problem for problem in verify(made) if problem.severity == "error"]
    for names in parts_of(made).values():
        assert len(names) <= group or len(workflow.steps) <= group
    by_run = itertools.groupby(sorted(one.part.run or "" for one in made.steps if one.part))
    assert all(len(list(names)) <= max(run, group) for _, names in by_run) or len(
        workflow.steps
    ) <= max(run, group)
    again = Split(group_steps=group, run_steps=run).run(workflow, PassContext())
    assert write_json(again) == write_json(made)


@pytest.mark.parametrize("option", ["group_steps", "run_steps", "run_pods", "run_bytes"])
def test_a_budget_of_nothing_is_refused(option: str) -> None:
    with pytest.raises(EngineOptionError, match=f"^{option} is 0; it is at least 1"):
        Split(**{option: 0})
    with pytest.raises(EngineOptionError, match=f'^pass "split": {option} is 0; it is'):
        read_pass(f"split{{{option}=0}}")


def test_groups_that_are_stated_and_cannot_be_had_are_refused() -> None:
    many = tuple(step(f"s{n}") for n in range(150))
    engine = Engine(Limits(scope_steps=10, takes_runs=True))
    workflow = Workflow(name="w", steps=many[:90])
    made = Split(group_steps=1).run(workflow, PassContext(weigh=engine.weigh))
    assert set(map(len, parts_of(made).values())) == {1}
    assert over_limits(made, engine) == []
    with pytest.raises(InvalidWorkflowError, match="needs 73 parts; at most 10 can") as caught:
        Split(group_steps=1).run(Workflow(name="w", steps=many), PassContext(weigh=engine.weigh))
    assert [problem.code for problem in caught.value.diagnostics] == ["CLR541"]


def test_it_is_installed_under_its_name() -> None:
    assert read_pass("split{group_steps=3}") == Split(group_steps=3)
