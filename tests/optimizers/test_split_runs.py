"""Runs of their own: what they may hold, and what they wait for."""

from __future__ import annotations

import typing as t

import pytest

from couler.errors import InvalidWorkflowError
from couler.ir.policies import Profile
from couler.ir.sizes import Limits
from couler.ir.verify import verify
from couler.ir.walk import predecessors
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.partitioning.methods import partition
from couler.optimizers.partitioning.model import Partition, TaskGraph
from couler.optimizers.passes.split import Split
from couler.optimizers.run_budget import GroupFinder
from tests.support.splitting import (
    layers,
    parts_of,
    step,
    weighed,
)


def test_a_run_takes_something_by_itself() -> None:
    workflow = Workflow(name="w", steps=layers(10, 7))
    limits = Limits(run_bytes=2_000, takes_runs=True, bytes_per_run=500)
    made = Split().run(workflow, weighed(limits, step_bytes=100, shared=300, base=200))
    assert max(map(len, parts_of(made).values())) <= 10
    several = Workflow(name="w", steps=tuple(step(f"s{n}") for n in range(50)))
    limits = Limits(run_definitions=21, takes_runs=True, definitions_per_run=5)
    made = Split().run(several, weighed(limits, own=50))
    assert max(map(len, parts_of(made).values())) == 15


def test_runs_have_groups_and_are_made_smaller_until_these_fit() -> None:
    workflow = Workflow(name="w", steps=layers(40, 10))
    limits = Limits(
        scope_steps=50, run_bytes=20_000, takes_runs=True, bytes_per_part=900, bytes_per_wait=150
    )
    made = Split().run(workflow, weighed(limits, step_bytes=100))
    steps = {one.name: one for one in made.steps}
    runs: dict[str, list[str]] = {}
    for name, names in parts_of(made).items():
        runs.setdefault(name.partition("/")[0], []).append(name)
        assert len(names) <= 50
    of = {name: key for key, names in parts_of(made).items() for name in names}
    for groups in runs.values():
        inside = [name for key in groups for name in parts_of(made)[key]]
        waits = {(before, of[n]) for n in inside for before in predecessors(steps[n])}
        crossing = sum(1 for before, key in waits if of[before] != key and of[before] in groups)
        assert 100 * len(inside) + 900 * len(groups) + 150 * crossing <= 20_000
    assert len(runs) > 1


def test_the_users_budget_takes_effect_without_an_engine() -> None:
    workflow = Workflow(name="w", steps=layers(10, 7))
    made = Split(group_steps=20, run_steps=45).run(workflow, PassContext())
    assert not [problem for problem in verify(made) if problem.severity == "error"]
    by_run: dict[str, int] = {}
    for name, names in parts_of(made).items():
        assert len(names) <= 20
        run = name.partition("/")[0]
        by_run[run] = by_run.get(run, 0) + len(names)
    assert max(by_run.values()) <= 45
    assert len(by_run) >= 2
    assert Split(run_steps=100).run(workflow, PassContext()) is workflow


def test_pods_and_bytes_are_those_of_what_is_inside() -> None:
    groups = tuple(
        Step(name=f"g{n}", action=Group(steps=tuple(step(f"i{k}") for k in range(4))))
        for n in range(6)
    )
    workflow = Workflow(name="w", steps=groups)
    made = Split(run_pods=8).run(workflow, PassContext())
    assert [len(names) for names in parts_of(made).values()] == [2, 2, 2]
    made = Split(run_steps=10).run(workflow, PassContext())  # a group and its four: five steps
    assert [len(names) for names in parts_of(made).values()] == [2, 2, 2]
    size = len(groups[0].model_dump_json(exclude_defaults=True).encode())
    made = Split(run_bytes=3 * size + 10).run(workflow, PassContext())
    assert [len(names) for names in parts_of(made).values()] == [3, 3]


def test_what_a_run_waits_for_counts_in_its_groups() -> None:
    """Each step of the second run reads from another one of the first."""
    first = tuple(step(f"a{n}") for n in range(120))
    second = tuple(step(f"b{n}", reads=[f"a{n}"]) for n in range(120))
    limits = Limits(scope_steps=60, steps_in_part=2, steps_per_wait=1, takes_runs=True)
    split = Split(run_steps=120, method="levels")
    made = split.run(Workflow(name="w", steps=(*first, *second)), weighed(limits))
    steps = {one.name: one for one in made.steps}
    assert len({one.part.run for one in made.steps if one.part}) == 2
    for names in parts_of(made).values():
        waiting = [n for n in names if set(predecessors(steps[n])) - set(names)]
        assert len(names) + len(waiting) + 2 <= 60
    few = Workflow(name="w", steps=(*first[:40], *second[:40]))  # no run has 60 steps
    made = Split(run_steps=40, method="levels").run(few, weighed(limits))
    steps = {one.name: one for one in made.steps}
    for names in parts_of(made).values():
        waiting = [n for n in names if set(predecessors(steps[n])) - set(names)]
        assert len(names) + len(waiting) + 2 <= 60


def test_values_that_a_run_reads_are_limited() -> None:
    first = tuple(step(f"a{n}") for n in range(120))
    second = tuple(step(f"b{n}", reads=[f"a{n}"]) for n in range(120))
    limits = Limits(scope_steps=60, values_per_part=100, takes_runs=True)
    split = Split(run_steps=120, method="levels")
    made = split.run(Workflow(name="w", steps=(*first, *second)), weighed(limits))
    part = {one.name: one.part for one in made.steps}
    for run in {own.run for own in part.values() if own}:
        inside = {name for name, own in part.items() if own and own.run == run}
        assert len(inside) <= 120
        reads = {b for one in made.steps if one.name in inside for b in predecessors(one)}
        assert len(reads - inside) <= 100
    many = Workflow(name="w", steps=(*first, step("b", reads=[f"a{n}" for n in range(101)])))
    with pytest.raises(InvalidWorkflowError, match='"b" reads 101 values of other runs, and 100'):
        Split(run_steps=60).run(many, weighed(limits))


def test_runs_that_are_alike_have_their_groups_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[TaskGraph] = []

    def counted(graph: TaskGraph, *args: t.Any, **options: t.Any) -> Partition:
        asked.append(graph)
        return partition(graph, *args, **options)

    monkeypatch.setattr("couler.optimizers.run_budget.partition", counted)
    chains = [
        step(
            f"c{n}",
            *([f"c{n - 1}"] if n % 30 else []),
            profile=Profile(seconds=9 if n >= 60 else 1),
        )
        for n in range(90)
    ]
    finder = GroupFinder(chains, Limits(scope_steps=12), None, "bands")
    first, second, third = (finder.find(chains[n : n + 30]) for n in (0, 30, 60))
    assert first is not None
    assert first == second
    assert third is not None
    assert [one.seconds[0] for one in asked] == [1, 9]  # the third takes other times
