"""What a policy of caching brings, by simulation of a run."""

from benchmarks.cache_simulation.comparison import Comparison, compare
from benchmarks.cache_simulation.engine import simulate
from benchmarks.cache_simulation.machine import Machine, Storage
from benchmarks.cache_simulation.report import Report, Span, usage
from benchmarks.cache_simulation.run_knowledge import GovernedCache

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
