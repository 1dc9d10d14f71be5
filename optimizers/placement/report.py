"""What a simulated run did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from couler.cluster.model import Cluster
from couler.optimizers.placement.problem import Choice


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """A task from its start to its end, in seconds, and its node."""

    pipeline: str
    task: str
    node: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class PipelineTimes:
    """A pipeline, in seconds."""

    name: str
    arrival_s: float
    start_s: float
    end_s: float
    waiting_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did."""

    pipelines: tuple[PipelineTimes, ...]
    spans: tuple[TaskSpan, ...]
    choices: tuple[Choice, ...] = ()

    @property
    def total_s(self) -> float:
        """From the start of the first pipeline to the end of the last: the paper's total time."""
        if not self.pipelines:
            return 0.0
        first = min(one.start_s for one in self.pipelines)
        return max(one.end_s for one in self.pipelines) - first

    @property
    def busy_s(self) -> Mapping[str, float]:
        """How long each node that ran anything had a task."""
        spans: dict[str, list[tuple[float, float]]] = {}
        for one in self.spans:
            spans.setdefault(one.node, []).append((one.start_s, one.end_s))
        return {node: _covered(some) for node, some in spans.items()}

    def cost_usd(self, cluster: Cluster) -> float | None:
        """Return US dollars for the time that nodes have a task; None if a price is not known."""
        prices = {node.name: node.price_usd_per_h for node in cluster.nodes}
        costs = [
            None if (price := prices[node]) is None else price * seconds / 3600
            for node, seconds in self.busy_s.items()
        ]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) and costs else None


def _covered(spans: Sequence[tuple[float, float]]) -> float:
    """Return the length of a union of spans."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
