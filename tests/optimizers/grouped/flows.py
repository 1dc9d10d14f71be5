"""What tests of the pass `group` do with workflows."""

from __future__ import annotations

import ast
import typing as t

from couler.ir.workflow import Script, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.group import Group


def names(workflow: Workflow) -> list[str]:
    return [step.name for step in workflow.steps]


def run(workflow: Workflow, **options: t.Any) -> tuple[Workflow, PassContext]:
    context = PassContext()
    return Group(**options).run(workflow, context), context


def definition(step: Step) -> dict[str, t.Any]:
    """Return what the script of a group says of its steps."""
    assert isinstance(step.action, Script)
    [made] = [
        node.value
        for node in ast.parse(step.action.source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GROUP"
    ]
    found: dict[str, t.Any] = ast.literal_eval(made)
    return found
