"""Merging a workflow's defaults into its steps."""

from __future__ import annotations

import typing as t

from couler.ir.actions import ContainerSet, Plugin
from couler.ir.storage import EnvVar
from couler.ir.workflow import Container, Defaults, Group, Http, Job, Script, Step, Workflow


def resolve_defaults(workflow: Workflow) -> Workflow:
    """Return the workflow with its defaults merged into every step, and none left to merge."""
    defaults = workflow.defaults
    if defaults is None:
        return workflow
    handlers = tuple(
        handler.model_copy(update={"steps": _resolve_all(handler.steps, defaults)})
        for handler in workflow.exit_handlers
    )
    return workflow.model_copy(
        update={
            "defaults": None,
            "steps": _resolve_all(workflow.steps, defaults),
            "exit_handlers": handlers,
        }
    )


def _resolve_all(steps: tuple[Step, ...], defaults: Defaults) -> tuple[Step, ...]:
    return tuple(_resolve(step, defaults) for step in steps)


def _resolve(step: Step, defaults: Defaults) -> Step:
    action = step.action
    if isinstance(action, Group):
        inner = action.model_copy(update={"steps": _resolve_all(action.steps, defaults)})
        return step.model_copy(update={"action": inner})
    update: dict[str, t.Any] = {}
    if isinstance(action, Container | Script | Job | Http | ContainerSet | Plugin):
        for field in ("retry", "timeout_s"):
            if getattr(step, field) is None:
                update[field] = getattr(defaults, field)
    if isinstance(action, Job) and action.local is not None:
        form = action.local
        merged: dict[str, t.Any] = {"env": _with_defaults(form.env, defaults)}
        if form.resources is None:
            merged["resources"] = defaults.resources
        local = form.model_copy(update=merged)
        update["action"] = action.model_copy(update={"local": local})
    if isinstance(action, Container | Script):
        for field in ("resources", "placement", "pull_policy"):
            if getattr(step, field) is None:
                update[field] = getattr(defaults, field)
        update["env"] = _with_defaults(step.env, defaults)
    return step.model_copy(update=update) if update else step


def _with_defaults(own: tuple[EnvVar, ...], defaults: Defaults) -> tuple[EnvVar, ...]:
    names = {variable.name for variable in own}
    return (*(variable for variable in defaults.env if variable.name not in names), *own)
