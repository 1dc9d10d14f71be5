"""What holds for everything inside a scope of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from couler.backends.local.ahead import Ahead
from couler.backends.local.demand import Lane
from couler.backends.local.limits import Limits
from couler.ir.semantics.values import View


@dataclass(frozen=True, slots=True)
class Around:
    """What holds for everything in a scope."""

    view: View
    limits: Limits
    lanes: tuple[Lane, ...] = ()
    priority: float = 0.0
    since: int = 0
    ahead: Ahead | None = None

    def with_lane(self, width: int | None) -> Around:
        """Return this with one more bound, if there is one."""
        return self if width is None else replace(self, lanes=(*self.lanes, Lane(width)))
