"""Rewriting: workflows with other steps in their scopes, steps that read other values."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from couler.ir.base import FrozenDict, Node
from couler.ir.conditions import And, Compare, Condition, Not, Or, map_operands
from couler.ir.values import StepRef, Value, children, map_children
from couler.ir.walk import Scope
from couler.ir.workflow import Group, Hook, Output, Step, Workflow

_VALUES: tuple[type, ...] = t.get_args(t.get_args(Value)[0])
_CONDITIONS = (Compare, And, Or, Not)


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


def map_values(step: Step, change: Callable[[Value], Value]) -> Step:
    """Return a step with the values that it reads in its own scope replaced."""
    made = _map_node(step, change)
    assert isinstance(made, Step)
    return made


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


def _map_node(node: Node, change: Callable[[Value], Value]) -> Node:
    update: dict[str, object] = {}
    for name in node.model_fields_set:
        if name == "value" and isinstance(node, Output):
            continue  # what a group gives out is read in the scope inside
        old = getattr(node, name)
        new = _map_any(old, change)
        if new is not old:
            update[name] = new
    return node.model_copy(update=update) if update else node


def _map_any(part: t.Any, change: Callable[[Value], Value]) -> t.Any:
    if isinstance(part, Node):
        if isinstance(part, Group | Hook):
            return part
        if isinstance(part, _VALUES):
            return change(t.cast("Value", part))
        if isinstance(part, _CONDITIONS):
            return _map_condition(part, change)
        return _map_node(part, change)
    if isinstance(part, tuple):
        made = tuple(_map_any(inner, change) for inner in part)
        return part if all(map(_is, made, part)) else made
    if isinstance(part, FrozenDict):
        over = {key: _map_any(inner, change) for key, inner in part.items()}
        return part if all(over[key] is inner for key, inner in part.items()) else FrozenDict(over)
    return part


def _map_condition(condition: Condition, change: Callable[[Value], Value]) -> Condition:
    is_changed = False

    def noted(value: Value) -> Value:
        nonlocal is_changed
        made = change(value)
        is_changed = is_changed or made is not value
        return made

    made = map_operands(condition, noted)
    return made if is_changed else condition
