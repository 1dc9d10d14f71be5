"""What holds for everything inside a scope of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from couler.backends.local.ahead import Ahead
from couler.backends.local.demand import Lane
from couler.backends.local.limits import Limits
from couler.ir.evaluation.values import View


@dataclass(frozen=True, slots=True)
class Around:
    """What holds for everything in a scope.

    Attributes
    ----------
    view
        What its steps can read.
    limits
        What can end them early.
    lanes
        Bounds on how many of them run at the same time.
    priority
        Seconds of the longest path that waits for the end of the scope.
    since
        Ordinal of the latest end that they depend on, `RUNS` if that is of this session: what is
        older than it is not taken over.
    ahead
        Foresees the ends of its steps.
    """

    view: View
    limits: Limits
    lanes: tuple[Lane, ...] = ()
    priority: float = 0.0
    since: int = 0
    ahead: Ahead | None = None

    def with_lane(self, width: int | None) -> Around:
        """Return this with one more bound, if there is one."""
        return self if width is None else replace(self, lanes=(*self.lanes, Lane(width)))
