"""What a workflow takes of an engine, for the passes."""

from __future__ import annotations

from couler.backends.base import Backend, Target, Weigher, unsupported_uses
from couler.ir.sizes import Footprint
from couler.ir.workflow import Workflow
from couler.optimizers.base import Weigh


def weigher(backend: Backend | None, target: Target) -> Weigh | None:
    """Return what weighs workflows for an engine; None for one without limits, or without engine.

    It gives None for a workflow that the engine cannot run whatever its size is.
    """
    if backend is None or not isinstance(backend, Weigher) or not backend.limits(target).has_any:
        return None

    def weigh(workflow: Workflow) -> Footprint | None:
        if any(unsupported_uses(workflow, backend, target, {})):
            return None
        return backend.footprint(workflow, target)

    return weigh


def parts_are_barriers(backend: Backend | None, target: Target) -> bool | None:
    """Return whether an engine starts the parts of a split scope as a whole.

    None without an engine; False for one that says nothing of it.
    """
    if backend is None:
        return None
    return isinstance(backend, Weigher) and backend.limits(target).parts_are_barriers
