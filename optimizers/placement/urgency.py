"""How urgent the steps of a plan are: what is left from the start of each to the end of all."""

from __future__ import annotations

import typing as t
from collections import defaultdict

from couler.optimizers.placement.report import Report
from couler.optimizers.placement.workload import Workload

__all__ = ["Urgency", "urgencies"]

_SLACK_SHARE = 1e-3
"""A step that could start later by less than this part of the whole is critical."""


class Urgency(t.NamedTuple):
    """How urgent a step is."""

    tail_s: float
    is_critical: bool


def urgencies(workload: Workload, report: Report) -> dict[str, Urgency]:
    """Return how urgent each step is, by its path: of a foreach, the most urgent item."""
    after: defaultdict[str, list[str]] = defaultdict(list)
    for edge in workload.pipeline.edges:
        after[edge.source].append(edge.target)
    tails: dict[str, float] = {}
    found: dict[str, Urgency] = {}
    for span in reversed(report.spans):  # whatever waits for a task starts after it
        behind = max((tails.get(name, 0.0) for name in after[span.task]), default=0.0)
        tail_s = tails[span.task] = span.end_s - span.start_s + behind
        if span.task not in workload.step_of:
            continue
        slack_s = report.total_s - span.start_s - tail_s
        path = workload.step_of[span.task]
        known = found.get(path, Urgency(0.0, False))
        is_critical = known.is_critical or slack_s <= _SLACK_SHARE * report.total_s
        found[path] = Urgency(max(known.tail_s, tail_s), is_critical)
    return found
