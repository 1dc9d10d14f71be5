"""The two forms of a workflow that the stages take: as a program built it, and as IR."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

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


@t.runtime_checkable
class KnowsSecrets(t.Protocol):
    """A workflow whose program gives values of secrets."""

    def reveal_secrets(self) -> Mapping[str, Mapping[str, str]]:
        """Return the values by the names of the secrets and their keys."""
        ...


AnyWorkflow: t.TypeAlias = Workflow | ProgramWorkflow


def as_ir(workflow: AnyWorkflow) -> tuple[Workflow, tuple[Diagnostic, ...]]:
    """Return a workflow as IR, with what building it reported."""
    if isinstance(workflow, Workflow):
        return workflow, ()
    converted = workflow.to_ir()
    return converted, tuple(workflow.diagnostics)


def secrets_of(workflow: object) -> Mapping[str, Mapping[str, str]]:
    """Return the values of secrets that the program of a workflow gives, for a run in its process.

    They stand in no IR, and belong into no file, log or command line.
    """
    return workflow.reveal_secrets() if isinstance(workflow, KnowsSecrets) else {}
