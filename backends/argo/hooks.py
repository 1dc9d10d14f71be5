"""Hooks of tasks and of the workflow: templates that run when an expression first holds."""

from __future__ import annotations

from collections.abc import Sequence

from couler.backends.argo.leaves import Leaves
from couler.backends.argo.own import state_condition
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import Renderer
from couler.ir.workflow import Hook

AT_END = "exit"
"""Name of the one hook that Argo runs without an expression, so no other can have it."""


def hooks(given: Sequence[Hook], status: str, renderer: Renderer, leaves: Leaves) -> Tree:
    """Return the `hooks` of a task or of a workflow."""
    tree: Tree = {}
    taken = {hook.step.name for hook in given}
    for hook in given:
        entry: Tree = {
            "expression": state_condition(hook.when, status),
            **leaves.template_of(hook.step),
        }
        parameters = [
            {"name": hole.name, "value": renderer.text(hole.text, hook.step, hole.type)}
            for hole in leaves.arguments(hook.step)
        ]
        if parameters:
            entry["arguments"] = {"parameters": parameters}
        name = hook.step.name
        while name == AT_END or (name != hook.step.name and name in taken):
            name += "-hook"
        tree[name] = entry
    return tree
