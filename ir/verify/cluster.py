"""Rules for actions that only engines of a cluster have."""

from __future__ import annotations

import re

from couler.ir.diagnostics import did_you_mean
from couler.ir.graph import Graph
from couler.ir.semantics import has_main
from couler.ir.verify.names import check_object_name
from couler.ir.verify.scope import ScopeView
from couler.ir.workflow import (
    MAIN,
    STDOUT,
    ContainerSet,
    Plugin,
    Step,
    StoredWorkflow,
    TemplateCall,
    Workflow,
)

_TEMPLATE = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]{0,127}")


def check_container_set(view: ScopeView, step: Step, action: ContainerSet) -> None:
    """Check the containers of a set: what they wait for, and that there is a main one."""
    names = [container.name for container in action.containers]
    if (step.inputs or step.outputs) and not has_main(action):
        view.add(
            "CLR434",
            step,
            f'it has inputs or outputs, which are those of the container "{MAIN}", but there is '
            "none. Name one so.",
        )
    for container in action.containers:
        what = f'container "{container.name}"'
        for name in container.depends_on:
            if name not in names:
                hint = did_you_mean(name, names)
                view.add("CLR434", step, f'{what} depends on "{name}", which is unknown.{hint}')
        if container.mirror_mounts:
            view.add(
                "CLR410",
                step,
                f"mirror_mounts of {what} has no effect in a container set, whose containers share "
                "what the step sees. Remove it.",
            )
    circle = Graph({one.name: one.depends_on for one in action.containers}).find_cycle()
    if circle:
        told = ", ".join(sorted({*circle}))
        view.add("CLR434", step, f"its containers wait for each other: {told}.")


def check_template_call(view: ScopeView, step: Step, action: TemplateCall) -> None:
    """Check the names of a template that exists elsewhere."""
    add = view.adder(step)

    check_object_name(action.collection, "collection of templates", add)
    if _TEMPLATE.fullmatch(action.template) is None:
        add("CLR411", f'"{action.template}" is no name of a template: letters, digits and "-".')


_OF_STEPS = (
    "steps",
    "outputs",
    "exit_handlers",
    "hooks",
    "metrics",
    "defaults",
    "volumes",
    "files",
)


def check_stored(view: ScopeView, workflow: Workflow, stored: StoredWorkflow) -> None:
    """Check a workflow that the engine has, and that there is nothing beside it."""
    check_object_name(stored.name, "stored workflow", view.add_to_scope)
    for field in _OF_STEPS:
        if getattr(workflow, field):
            view.add_to_scope(
                "CLR435",
                f'it runs the stored workflow "{stored.name}", so its own {field} have no place. '
                "Remove them, or write the steps in place of the stored workflow.",
            )


def check_plugin(view: ScopeView, step: Step, action: Plugin) -> None:
    """Check the name of a plugin."""
    if not action.name or action.name.split() != [action.name]:
        view.add("CLR411", step, f'"{action.name}" is no name of a plugin.')
    for output in step.outputs:
        if output.name == STDOUT:
            view.add(
                "CLR169", step, f"outputs.{STDOUT} is what a process prints. Name it otherwise."
            )
