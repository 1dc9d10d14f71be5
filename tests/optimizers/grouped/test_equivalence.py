"""Runs in which steps share pods come to what they came to, also where something fails."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Retry
from couler.ir.values import StepRef
from couler.ir.verify import verify
from couler.ir.walk import all_steps
from couler.ir.workflow import Step, Workflow
from couler.optimizers.passes.group import Group
from couler.optimizers.pipeline import PassLog, Pipeline
from couler.state.results import RunResult
from tests.corpus import Case, Expected, cases
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    on_completion,
    or_else,
    out,
    ref,
    sh,
)
from tests.support.dry_runs import Outcome
from tests.support.equivalence import assert_same_outcome
from tests.support.grouped_cases import CASES
from tests.support.local_runs import run_here
from tests.support.tangles import is_valid

PASS = Group(images=("busybox:1.36 = python", "python:3.12-slim = python"))
"""No image is used here: processes of this machine have Python."""

FEW, MANY = 8, 1000


def grouped(workflow: Workflow, pass_: Group = PASS) -> tuple[Workflow, PassLog] | None:
    """Return a workflow in which steps share pods, None if none do."""
    planned, log = Pipeline((pass_,)).run(workflow)
    return (planned, log) if any(step.origin == "group" for step in all_steps(planned)) else None


def grouped_cases(
    pass_: Group = PASS, among: Iterable[Case] | None = None
) -> Iterator[tuple[Case, Workflow, Workflow, PassLog]]:
    for case in cases() if among is None else among:
        workflow = resolve_defaults(case.workflow)
        if (found := grouped(workflow, pass_)) is not None:
            yield case, workflow, *found


def outcome_of(result: RunResult) -> Outcome:
    steps = {path: (step.status, {}) for path, step in result.steps.items()}
    return Outcome(result.status, result.outputs, steps)


def compare_corpus(
    folder: Path, most: int, pass_: Group = PASS, among: Iterable[Case] | None = None
) -> None:
    """Compare runs of cases from all over the corpus, of which the pass keeps what they come to."""
    found = [
        one
        for one in grouped_cases(pass_, among)
        if pass_.keeps_failures
        or not {"failed", "omitted"}.intersection(one[0].expected.steps.values())
    ]
    for case, workflow, planned, log in found[:: -(-len(found) // most)]:
        before = Outcome(
            case.expected.status,
            case.expected.run_outputs,
            {path: (state, {}) for path, state in case.expected.steps.items()},
        )
        try:
            result = run_here(replace(case, workflow=planned), folder / case.name)
            assert_same_outcome(workflow, before, planned, outcome_of(result), log)
            for path, outputs in case.expected.outputs.items():
                if path in result.steps and result.steps[path].outputs:
                    assert {**result.steps[path].outputs, **outputs} == result.steps[path].outputs
        except AssertionError as error:
            error.add_note(f"in {case.name}")
            raise


@pytest.mark.slow
def test_corpus(tmp_path: Path) -> None:
    compare_corpus(tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.nightly
def test_whole_corpus(tmp_path: Path) -> None:
    compare_corpus(tmp_path, MANY)


@pytest.mark.slow
def test_whole_groups_keep_runs_in_which_all_is_well(tmp_path: Path) -> None:
    whole = replace(PASS, failures="whole")
    assert len(list(grouped_cases(whole))) > len(list(grouped_cases()))
    compare_corpus(tmp_path, MANY, whole)


def test_the_cases_are_what_they_say(tmp_path: Path) -> None:
    """Also without the pass."""
    for case in CASES:
        assert not [one for one in verify(case.workflow) if one.severity == "error"]
        result = run_here(case, tmp_path / case.name)
        assert {path: step.status for path, step in result.steps.items()} == case.expected.steps
        assert result.status == case.expected.status


@pytest.mark.slow
@pytest.mark.parametrize("pass_", [PASS, replace(PASS, failures="whole")], ids=["keep", "whole"])
def test_conditions_and_lists_of_a_foreach(pass_: Group, tmp_path: Path) -> None:
    assert len(list(grouped_cases(pass_, CASES))) == len(CASES)
    compare_corpus(tmp_path, MANY, pass_, CASES)


def web(seed: int) -> Workflow:
    """Return a graph of plain steps, some of which fail or cannot share a pod."""
    dice = random.Random(seed)
    steps: list[Step] = []
    for number in range(dice.randint(3, 9)):
        names = [step.name for step in steps]
        after = dice.sample(names, min(len(names), dice.choice((0, 1, 1, 1, 2))))
        steps.append(_step(dice, f"s{number}", after))
    if dice.random() < 0.3:
        inner = [_step(dice, "i0", []), _step(dice, "i1", ["i0"]), _step(dice, "i2", ["i1"])]
        steps.append(group("g", *inner, outputs=[out("last", source=ref("i2"))]))
        steps.append(sh("after-g", 'echo "$1"', ref("g", "last")))
    read = or_else(ref(dice.choice(steps[:3]).name), "none")
    return flow(f"web-{seed}", *steps, outputs=[out("read", source=read)])


def _step(dice: random.Random, name: str, after: list[str]) -> Step:
    way = dice.random()
    last = dice.choice(("true", "true", "true", "exit 3", "exit 4"))
    inputs = [given(f"v{n}", ref(one)) for n, one in enumerate(after) if dice.random() < 0.6]
    depends_on = [one for one in after if dice.random() < 0.7 or not inputs]
    read = {one.value.step for one in inputs if isinstance(one.value, StepRef)}
    ends = [
        on_completion(one) if one not in read and dice.random() < 0.1 else one for one in depends_on
    ]
    fields: dict[str, object] = {"inputs": inputs, "depends_on": ends}
    if way < 0.3:
        return sh(name, f"echo {name}", **fields, when=compare("a", "==", dice.choice("aab")))  # type: ignore[arg-type]  # of steps
    if way > 0.7:
        fields["retry"] = Retry(limit=1, exit_codes=dice.choice(((), (3,), (4,))))
    says = f'cd "$COULER_WORK"; echo "{name} $COULER_INPUT_v0"; {last}'
    return sh(name, says, **fields)  # type: ignore[arg-type]  # of steps


@pytest.mark.parametrize(
    "seeds",
    [range(12), pytest.param(range(100, 250), marks=[pytest.mark.slow, pytest.mark.nightly])],
    ids=str,
)
def test_random(seeds: range, tmp_path: Path) -> None:
    changed = failed = 0
    for seed in seeds:
        workflow = web(seed)
        if not is_valid(workflow) or (found := grouped(workflow)) is None:
            continue
        case = Case(workflow.name, workflow, Expected("succeeded"), {}, {}, {}, {})
        before = run_here(case, tmp_path / f"{seed}-before")
        after = run_here(replace(case, workflow=found[0]), tmp_path / f"{seed}-after")
        try:
            assert_same_outcome(workflow, outcome_of(before), found[0], outcome_of(after), found[1])
        except AssertionError as error:
            error.add_note(f"web({seed})")
            raise
        changed += 1
        failed += before.status == "failed"
    assert changed * 3 > len(seeds)
    assert failed
