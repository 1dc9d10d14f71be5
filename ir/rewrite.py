"""Rewriting: workflows with other steps in their scopes, steps that read other values."""

from __future__ import annotations

import operator
import typing as t
from collections.abc import Callable, Mapping

from couler.ir.traversal import Held
from couler.ir.values import REFERENCES, StepRef
from couler.ir.walk import Scope
from couler.ir.workflow import Group, Step, Workflow


def map_scopes(workflow: Workflow, change: Callable[[Scope], tuple[Step, ...]]) -> Workflow:
    """Return a workflow with the steps of its scopes replaced, inner scopes before outer ones."""

    def inside(scope: Scope) -> tuple[Step, ...]:
        steps: list[Step] = []
        for step in scope.steps:
            action = step.action
            if isinstance(action, Group):
                inner = Scope((*scope.path, step.name), action.steps, step, scope.handler)
                made = inside(inner)
                if made is not action.steps:
                    group = action.model_copy(update={"steps": made})
                    step = step.model_copy(update={"action": group})
            steps.append(step)
        made = _kept(scope.steps, tuple(steps))
        return _kept(scope.steps, change(scope._replace(steps=made)))

    update: dict[str, object] = {}
    steps = inside(Scope((), workflow.steps, None))
    if steps is not workflow.steps:
        update["steps"] = steps
    handlers = tuple(
        handler
        if (made := inside(Scope((), handler.steps, None, handler.name))) is handler.steps
        else handler.model_copy(update={"steps": made})
        for handler in workflow.exit_handlers
    )
    if any(new is not old for new, old in zip(handlers, workflow.exit_handlers, strict=True)):
        update["exit_handlers"] = handlers
    return workflow.model_copy(update=update) if update else workflow


def map_references(node: Held, change: Callable[[StepRef], StepRef]) -> Held:
    """Return a step or a value with what it reads of other steps replaced."""
    if isinstance(node, StepRef):
        return t.cast("Held", change(node))
    return REFERENCES.map(node, lambda _, reference: change(reference))


def rename_references(node: Held, names: Mapping[str, str]) -> Held:
    """Return a step or a value with the steps that it reads renamed."""

    def renamed(reference: StepRef) -> StepRef:
        name = names.get(reference.step)
        return reference if name is None else reference.model_copy(update={"step": name})

    return map_references(node, renamed)


def _kept(before: tuple[Step, ...], after: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps before, if those after are the same objects."""
    is_same = len(before) == len(after) and all(map(operator.is_, before, after))
    return before if is_same else after
