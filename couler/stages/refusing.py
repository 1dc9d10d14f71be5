"""What an engine refuses of a workflow, for the passes."""

from __future__ import annotations

from collections.abc import Sequence

from couler.backends.base import Backend, Target, unsupported_uses
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow
from couler.optimizers.base import Refusals


def refusals(backend: Backend | None, target: Target) -> Refusals | None:
    """Return what tells the errors of an engine; None without one."""
    if backend is None:
        return None

    def refused(workflow: Workflow) -> Sequence[Diagnostic]:
        missing = unsupported_uses(workflow, backend, target, {})
        checked = backend.check(workflow, target)
        return [one for one in (*missing, *checked) if one.severity == "error"]

    return refused
