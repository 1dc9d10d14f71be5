"""Lists of foreaches that are made of parameters: known before a run that has their defaults."""

from __future__ import annotations

import contextlib

from couler.errors import EvaluationError, WireError
from couler.ir.ranges import is_known
from couler.ir.rewrite import map_scopes
from couler.ir.semantics.values import (
    Stored,
    View,
    as_type,
    elements,
    from_json,
    resolve,
    to_json,
)
from couler.ir.values import Literal, Value
from couler.ir.walk import Scope, scopes
from couler.ir.workflow import Parameter, Step, Workflow
from couler.optimizers.durations import item_counts
from couler.optimizers.passes.fold_constant_conditions import is_made_of, known_views


def with_known_lists(workflow: Workflow) -> Workflow:
    """Return the workflow with lists in the place of what foreaches make of parameters."""
    views = known_views(workflow, _defaults(workflow.parameters))
    return map_scopes(
        workflow,
        lambda scope: tuple(_with_lists(step, views[scope.key]) for step in scope.steps),
    )


def steps_of_unknown_items(workflow: Workflow) -> tuple[str, ...]:
    """Return the paths of steps whose items only a run that does not fail makes known."""
    return tuple(
        scope.path_of(step)
        for scope in scopes(with_known_lists(workflow))
        if scope.handler not in _on_failure(workflow)
        for step in _of_unknown_items(scope)
    )


def _of_unknown_items(scope: Scope) -> list[Step]:
    counts = item_counts(scope.steps)
    return [one for one in scope.steps if one.foreach is not None and one.name not in counts]


def _on_failure(workflow: Workflow) -> set[str]:
    return {one.name for one in workflow.exit_handlers if one.on == "failure"}


def _defaults(declared: tuple[Parameter, ...]) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for parameter in declared:
        if not parameter.required and parameter.default is not None:
            with contextlib.suppress(WireError):  # it fails the run
                found[parameter.name] = as_type(from_json(parameter.default), parameter.type)
    return found


def _with_lists(step: Step, view: View) -> Step:
    if step.foreach is None or all(map(is_known, step.foreach.over.values())):
        return step
    over = {name: _known_list(value, view) for name, value in step.foreach.over.items()}
    return step.model_copy(update={"foreach": step.foreach.model_copy(update={"over": over})})


def _known_list(value: Value, view: View) -> Value:
    if is_known(value) or not is_made_of(value, view):
        return value
    try:
        items = elements(resolve(value, view))
        return Literal(value=tuple(None if one is None else to_json(one) for one in items))
    except (EvaluationError, WireError):  # the step fails, whatever it has for items
        return value
