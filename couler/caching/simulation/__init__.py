"""What a policy of caching brings, by simulation of a run."""

from couler.caching.simulation.comparison import Comparison, compare
from couler.caching.simulation.engine import simulate
from couler.caching.simulation.governed import GovernedCache
from couler.caching.simulation.machine import Machine, Storage
from couler.caching.simulation.report import Report, Span, usage

__all__ = [
    "Comparison",
    "GovernedCache",
    "Machine",
    "Report",
    "Span",
    "Storage",
    "compare",
    "simulate",
    "usage",
]
