"""The two forms of a workflow that the stages take: as a program built it, and as IR."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow


@t.runtime_checkable
class ProgramWorkflow(t.Protocol):
    """A workflow as a program built it: it turns into IR, and keeps what went wrong on the way."""

    @property
    def name(self) -> str:
        """Name of the workflow."""
        ...

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What is wrong with the program, as far as building it could tell."""
        ...

    def to_ir(self) -> Workflow:
        """Return the workflow."""
        ...


AnyWorkflow: t.TypeAlias = Workflow | ProgramWorkflow


def as_ir(workflow: AnyWorkflow) -> tuple[Workflow, tuple[Diagnostic, ...]]:
    """Return a workflow as IR, with what building it reported."""
    if isinstance(workflow, Workflow):
        return workflow, ()
    converted = workflow.to_ir()
    return converted, tuple(workflow.diagnostics)
