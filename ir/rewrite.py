"""Rewriting: workflows with other steps in their scopes, steps that read other values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from couler.ir.values import VALUES, StepRef, Value, children, map_children
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


def map_steps(workflow: Workflow, change: Callable[[Step], Step]) -> Workflow:
    """Return a workflow with each of its steps replaced, those in groups first."""
    return map_scopes(workflow, lambda scope: tuple(map(change, scope.steps)))


def map_values(step: Step, change: Callable[[Value], Value]) -> Step:
    """Return a step with the values that it reads in its own scope replaced."""
    return VALUES.map(step, lambda _, value: change(value))


def rename_references(value: Value, names: Mapping[str, str]) -> Value:
    """Return a value that reads other steps: for each name the one that takes its place."""
    if isinstance(value, StepRef):
        name = names.get(value.step)
        return value if name is None else value.model_copy(update={"step": name})
    if not children(value):
        return value
    return map_children(value, lambda inner: rename_references(inner, names))


def _kept(before: tuple[Step, ...], after: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps before, if those after are the same objects."""
    if len(before) == len(after) and all(map(_is, before, after)):
        return before
    return after


def _is(one: object, other: object) -> bool:
    return one is other
