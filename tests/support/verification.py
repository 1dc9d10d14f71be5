"""Short questions about what verification finds."""

from __future__ import annotations

from couler.ir.diagnostics import Diagnostic
from couler.ir.verify import verify
from couler.ir.workflow import Workflow


def codes(workflow: Workflow) -> list[str]:
    """The codes that are reported, in order."""
    return [diagnostic.code for diagnostic in verify(workflow)]


def only(workflow: Workflow) -> Diagnostic:
    """The one thing that is reported."""
    found = verify(workflow)
    assert len(found) == 1, "\n".join(map(str, found)) or "nothing was reported"
    return found[0]
