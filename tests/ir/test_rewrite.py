"""Rewriting of scopes and of values: complete, and without copies of what stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from couler.ir.rewrite import map_scopes, rename_references
from couler.ir.values import Literal, StepRef, Value, children, map_children
from couler.ir.walk import Scope, all_steps
from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus import cases
from tests.corpus.build import first_of, flow, group, part, ref, sh, text
from tests.support.strategies import workflows

MARK = Literal(value="replaced")


@given(workflows())
@pytest.mark.slow
def test_what_does_not_change_is_the_same_object(workflow: Workflow) -> None:
    assert map_scopes(workflow, lambda scope: tuple(scope.steps)) is workflow
    same = map_scopes(
        workflow,
        lambda scope: tuple(map_children(step, lambda value: value) for step in scope.steps),
    )
    assert same is workflow


@given(workflows())
@settings(max_examples=10)
def test_every_value_that_a_step_reads_is_replaced(workflow: Workflow) -> None:
    _all_replaced(workflow)


def test_every_value_of_the_corpus_is_replaced() -> None:
    for case in cases():
        _all_replaced(case.workflow)


def _all_replaced(workflow: Workflow) -> None:
    for step in all_steps(workflow):
        met: list[Value] = []

        def take(value: Value, met: list[Value] = met) -> Value:
            met.append(value)
            return MARK

        made = map_children(step, take)
        read = children(step)
        assert len(met) == len(read)
        assert sorted(map(repr, met)) == sorted(map(repr, read))
        assert set(map(repr, children(made))) <= {repr(MARK)}


def test_inner_scopes_come_first() -> None:
    seen: list[tuple[tuple[str, ...], str | None, list[str]]] = []

    def rename(scope: Scope) -> tuple[Step, ...]:
        seen.append((scope.path, scope.handler, [step.name for step in scope.steps]))
        return tuple(
            step.model_copy(update={"name": f"{step.name}{len(scope.steps)}"})
            for step in scope.steps
        )

    handler = ExitHandler(name="h", on="any", steps=(sh("x", "true"),))
    workflow = flow("w", group("g", sh("a", "true")), sh("b", "true"), exit_handlers=[handler])
    made = map_scopes(workflow, rename)
    assert seen == [(("g",), None, ["a"]), ((), None, ["g", "b"]), ((), "h", ["x"])]
    assert [step.name for step in all_steps(made)] == ["g2", "b2", "a1", "x1"]


def test_references_are_renamed_at_any_depth() -> None:
    value = first_of(part(ref("a", "o"), 0), text("<", ref("b"), ">"))
    renamed = rename_references(value, {"a": "c"})
    assert renamed == first_of(part(ref("c", "o"), 0), text("<", ref("b"), ">"))
    assert rename_references(StepRef(step="b"), {"a": "c"}) == ref("b")
