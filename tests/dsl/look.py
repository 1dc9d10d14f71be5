"""Looking at what a program has built."""

from __future__ import annotations

import typing as t

import couler
from couler.ir import workflow as ir
from couler.ir.diagnostics import Diagnostic
from couler.ir.verify import verify


def steps(workflow: couler.Workflow) -> dict[str, ir.Step]:
    """Return the steps of a workflow by name."""
    return {step.name: step for step in workflow.to_ir().steps}


def inner(step: ir.Step) -> dict[str, ir.Step]:
    """Return the steps of a group by name."""
    assert isinstance(step.action, ir.Group)
    return {one.name: one for one in step.action.steps}


def waits(workflow: couler.Workflow) -> dict[str, tuple[t.Any, ...]]:
    """Return what each step's `depends_on` says."""
    return {step.name: step.depends_on for step in workflow.to_ir().steps}


def problems(workflow: couler.Workflow) -> list[Diagnostic]:
    """Return everything that is wrong, from building and from verification."""
    return [*workflow.diagnostics, *verify(workflow.to_ir())]


def codes(workflow: couler.Workflow) -> list[str]:
    """Return the codes of everything that is wrong."""
    return [problem.code for problem in problems(workflow)]


def box(name: str, *args: object, **options: t.Any) -> t.Any:
    """Make a small container step."""
    return couler.run_container("busybox", ["echo"], list(args), step_name=name, **options)


def implicit() -> couler.Workflow:
    """Return the workflow that the program is."""
    from couler.dsl.builder import current_scope

    workflow = current_scope().builder.workflow
    assert workflow is not None
    return workflow
