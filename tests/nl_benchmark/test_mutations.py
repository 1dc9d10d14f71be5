"""Small changes to references that change their meaning make other workflows of them."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pytest

from benchmarks.nl.comparison import differences
from benchmarks.nl.items import read_benchmark
from benchmarks.nl.judging import Judge, aspects_of, reference_workflow
from couler.box.running import running_problem
from couler.ir.rewrite import map_scopes
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    Literal,
    Not,
    Or,
    OrElse,
    RoundRef,
    StepRef,
    Template,
    Value,
    map_children,
)
from couler.ir.walk import Scope
from couler.ir.workflow import Container, Group, Script, Step, Workflow

ITEMS = read_benchmark(Path(__file__).parent).items

Mutation: t.TypeAlias = tuple[str, Workflow]
Change: t.TypeAlias = Callable[[Value, Scope], Iterator[Value]]


def test_reference_is_not_a_mutation_of_itself():
    """What nothing is changed in is the same: what is told below is told of the changes."""
    for item in ITEMS:
        workflow = reference_workflow(item)
        copy = Workflow.model_validate_json(workflow.model_dump_json())
        assert differences(workflow, copy, aspects_of(item)) == ()


# values ------------------------------------------------------------------------------------------


def by_value(workflow: Workflow, change: Change) -> Iterator[Workflow]:
    """Yield the workflow with each of its values changed in each way, one at a time."""
    wanted = 0
    while True:
        seen = iter(range(10**9))
        done: list[bool] = []

        def changed(value: Value, scope: Scope, seen=seen, wanted=wanted, done=done) -> Value:
            value = map_children(value, lambda inner: changed(inner, scope))
            for other in change(value, scope):
                if next(seen) == wanted:
                    done.append(True)
                    return other
            return value

        def steps(scope: Scope, changed=changed) -> tuple[Step, ...]:
            made = tuple(
                map_children(step, lambda value: changed(value, scope)) for step in scope.steps
            )
            return tuple(with_outputs(one, changed, scope) for one in made)

        mutant = map_scopes(workflow, steps)
        outer = Scope((), mutant.steps, None)
        mutant = with_outputs(mutant, changed, outer, is_workflow=True)
        if not done:
            return
        yield mutant
        wanted += 1


def with_outputs(holder, changed, scope, *, is_workflow=False):
    if is_workflow:
        there = scope
    elif isinstance(holder.action, Group):
        there = Scope((*scope.path, holder.name), holder.action.steps, holder, scope.handler)
    else:
        return holder
    outputs = tuple(
        one if one.value is None else one.model_copy(update={"value": changed(one.value, there)})
        for one in holder.outputs
    )
    return holder.model_copy(update={"outputs": outputs})


def another_output(value: Value, scope: Scope) -> Iterator[Value]:
    """Another output of the same step; for loops, of the round before."""
    if isinstance(value, StepRef):
        for step in scope.steps:
            if step.name == value.step:
                for output in step.outputs:
                    if output.name != value.output:
                        yield value.model_copy(update={"output": output.name})


def a_part(value: Value, scope: Scope) -> Iterator[Value]:
    """Another part of a value."""
    if isinstance(value, Field):
        *before, last = value.path
        other = last + 1 if isinstance(last, int) else f"{last}_other"
        yield value.model_copy(update={"path": (*before, other)})


def another_default(value: Value, scope: Scope) -> Iterator[Value]:
    """Another default, another value for the first round, another text around a value."""
    match value:
        case OrElse():
            yield value.model_copy(update={"default": Literal(value="another")})
        case RoundRef(initial=initial) if initial is not None:
            yield value.model_copy(update={"initial": Literal(value="another")})
        case Template(parts=parts):
            for number, part in enumerate(parts):
                if isinstance(part, str):
                    mended = (*parts[:number], f"{part}another", *parts[number + 1 :])
                    yield value.model_copy(update={"parts": mended})


def another_step(value: Value, scope: Scope) -> Iterator[Value]:
    """The result of another step of the scope, without what reads it."""
    if isinstance(value, StepRef):
        for step in scope.steps:
            if step.name != value.step and any(one.name == value.output for one in step.outputs):
                yield value.model_copy(update={"step": step.name})


def in_another_order(value: Value, scope: Scope) -> Iterator[Value]:
    if isinstance(value, FirstOf) and len(value.options) > 1:
        yield value.model_copy(update={"options": value.options[::-1]})


# steps -------------------------------------------------------------------------------------------


def by_step(
    workflow: Workflow, change: Callable[[Step], Iterator[tuple[str, Step]]]
) -> Iterator[Mutation]:
    """Yield the workflow with each of its steps changed in each way, one at a time."""
    wanted = 0
    while True:
        seen = iter(range(10**9))
        done: list[str] = []

        def steps(scope: Scope, seen=seen, wanted=wanted, done=done) -> tuple[Step, ...]:
            made = []
            for step in scope.steps:
                mutants = [(told, one) for told, one in change(step) if next(seen) == wanted]
                done.extend(told for told, _ in mutants)
                made.append(mutants[0][1] if mutants else step)
            return tuple(made)

        mutant = map_scopes(workflow, steps)
        if not done:
            return
        yield done[0], mutant
        wanted += 1


def swapped_arguments(step: Step) -> Iterator[tuple[str, Step]]:
    """Two arguments of one call of a function, of which a result is one."""
    if not isinstance(step.action, Script) or step.action.function is None:
        return
    for one, other in combinations(range(len(step.inputs)), 2):
        inputs = list(step.inputs)
        first, second = inputs[one], inputs[other]
        if (
            first.value == second.value
            or isinstance(first.value, Literal) is isinstance(second.value, Literal) is True
        ):
            continue
        inputs[one] = first.model_copy(update={"value": second.value})
        inputs[other] = second.model_copy(update={"value": first.value})
        told = f"{step.name}: {first.name}, {second.name}"
        yield told, step.model_copy(update={"inputs": tuple(inputs)})


def swapped_words(step: Step) -> Iterator[tuple[str, Step]]:
    """Two words of a command."""
    action = step.action
    if not isinstance(action, Container):
        return
    words = (*action.command, *action.args)
    for one in range(len(words) - 1):
        if words[one] != words[one + 1]:
            mended = [*words[:one], words[one + 1], words[one], *words[one + 2 :]]
            count = len(action.command)
            update = {"command": tuple(mended[:count]), "args": tuple(mended[count:])}
            yield (
                f"{step.name}: {words[one]}",
                step.model_copy(update={"action": action.model_copy(update=update)}),
            )


def other_places(step: Step) -> Iterator[tuple[str, Step]]:
    """Another place of a file that a command writes."""
    if not isinstance(step.action, Container):
        return
    for number, output in enumerate(step.outputs):
        if output.path is not None:
            outputs = list(step.outputs)
            outputs[number] = output.model_copy(update={"path": f"{output.path}.other"})
            yield f"{step.name}.{output.name}", step.model_copy(update={"outputs": tuple(outputs)})


OTHER = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def other_conditions(step: Step) -> Iterator[tuple[str, Step]]:
    """Conditions with another operator, another constant, or turned round."""
    if step.when is not None:
        for when in changed_condition(step.when):
            yield f"{step.name}: when", step.model_copy(update={"when": when})
        yield f"{step.name}: always", step.model_copy(update={"when": None})
    if step.loop is not None:
        for again in changed_condition(step.loop.condition):
            loop = step.loop.model_copy(update={"condition": again})
            yield f"{step.name}: loop", step.model_copy(update={"loop": loop})


def changed_condition(condition: Condition) -> Iterator[Condition]:
    match condition:
        case Compare(op=op, left=left, right=right):
            yield condition.model_copy(update={"op": OTHER[op]})
            if isinstance(right, Literal):
                yield condition.model_copy(update={"right": Literal(value="another")})
            elif op not in ("==", "!="):
                yield condition.model_copy(update={"left": right, "right": left})
        case Not(item=item):
            yield item
            for inner in changed_condition(item):
                yield condition.model_copy(update={"item": inner})
        case And(items=items) | Or(items=items):
            yield items[0]
            for number, item in enumerate(items):
                for inner in changed_condition(item):
                    mended = (*items[:number], inner, *items[number + 1 :])
                    yield condition.model_copy(update={"items": mended})


# all of them -------------------------------------------------------------------------------------


def mutations(workflow: Workflow) -> Iterator[Mutation]:
    for change in (another_output, a_part, another_default, another_step, in_another_order):
        for number, mutant in enumerate(by_value(workflow, change)):
            yield f"{change.__name__} {number}", mutant
    for each in (swapped_arguments, swapped_words, other_places, other_conditions):
        for told, mutant in by_step(workflow, each):
            yield f"{each.__name__} {told}", mutant


BY_THEIR_FUNCTIONS = "only what functions do, which is not compared, tells the two results apart"
ONLY_CONSTANTS = "constants that functions are given do not count"
NO_DATA = "the item says that data does not count"

ALIKE = {
    ("three_sources", "swapped_arguments join: orders, customers"): BY_THEIR_FUNCTIONS,
    ("three_sources", "swapped_arguments join: orders, products"): BY_THEIR_FUNCTIONS,
    ("three_sources", "swapped_arguments join: customers, products"): BY_THEIR_FUNCTIONS,
    ("two_level_selection", "swapped_arguments train: data, model"): ONLY_CONSTANTS,
    ("notify_two_teams", "swapped_arguments notify: team, version"): NO_DATA,
    ("notify_two_teams", "swapped_arguments notify-2: team, version"): NO_DATA,
    ("quality_gate", "in_another_order 0"): "only one of the two branches runs",
}
"""By item and mutation: why it is no other workflow."""


def test_changes_of_meaning_are_seen():
    alike = {
        (item.name, told)
        for item in ITEMS
        for told, mutant in mutations(reference_workflow(item))
        if not differences(reference_workflow(item), mutant, aspects_of(item))
    }
    assert alike == ALIKE.keys()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(running_problem() is not None, reason="no runs in a box here")
def test_changes_of_meaning_are_seen_in_runs():
    judge = Judge()
    for item in ITEMS:
        if item.run is not None and not item.compare.structure:
            for told, mutant in mutations(reference_workflow(item)):
                if (item.name, told) not in ALIKE:
                    assert not judge.judge_workflow(item, mutant).is_right, (item.name, told)


@pytest.mark.slow
def test_there_are_changes_of_each_kind():
    kinds = Counter(
        told.split()[0] for item in ITEMS for told, _ in mutations(reference_workflow(item))
    )
    many = ("another_output", "another_step", "other_conditions", "swapped_arguments")
    for kind in (*many, "swapped_words"):
        assert kinds[kind] > 10, kinds
    for kind in ("another_default", "other_places", "in_another_order"):
        assert kinds[kind], kinds
