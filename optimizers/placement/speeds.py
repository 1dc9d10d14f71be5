"""How long tasks take on nodes, and data on their way between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from couler.cluster.model import ClusterNode
from couler.errors import PlacementError
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.requirements import refusal, shape_of


@dataclass(frozen=True, slots=True)
class Speeds:
    """Throughput of models on nodes, and the bandwidth between nodes."""

    rates: Mapping[tuple[str, str], float] = field(default_factory=dict)
    bandwidth_bytes_per_s: float = 125e6
    latency_s: float = 0.0
    start_s: float = 0.0

    def seconds(self, task: Task, node: ClusterNode) -> float:
        """Return how long a task computes on a node."""
        found = self.known_seconds(task, node)
        if found is None:
            raise PlacementError("speeds are missing:", [_missing(task, node)])
        return found

    def known_seconds(self, task: Task, node: ClusterNode) -> float | None:
        """Return how long a task computes on a node; None if nothing says how fast that is."""
        known = task.seconds
        if known:
            for place in (node.name, node.group, ""):
                if place in known:
                    return self.start_s + known[place] if known[place] else 0.0
        if not task.operations:
            return self.start_s
        rate = self.rate(task.model, node)
        return None if rate is None else self.start_s + task.operations / rate

    def rate(self, model: str, node: ClusterNode) -> float | None:
        """Return the operations per second of a model on a node; None if nothing says that."""
        for kind in (model, ""):
            for place in (node.name, node.group, ""):
                found = self.rates.get((kind, place))
                if found is not None:
                    return found
        return None

    def transfer_s(self, size_bytes: int) -> float:
        """Return how long data take from one node to another; nothing takes no time."""
        return self.latency_s + size_bytes / self.bandwidth_bytes_per_s if size_bytes else 0.0


def check_speeds(
    speeds: Speeds, pipelines: Sequence[Pipeline], nodes: Iterable[ClusterNode]
) -> None:
    """Refuse speeds that are missing for a model and a node that can run it."""
    samples: dict[tuple[str, frozenset[str]], dict[object, Task]] = {}
    for pipeline in pipelines:
        for task in pipeline.tasks:
            if task.operations and "" not in task.seconds:
                alike = samples.setdefault((task.model, frozenset(task.seconds)), {})
                alike.setdefault(shape_of(task), task)
    told: dict[str, None] = {}
    for node in nodes:
        for (model, known), alike in samples.items():
            if node.name in known or node.group in known or speeds.rate(model, node) is not None:
                continue
            for task in alike.values():
                if refusal(task, node, 1.0) is None:
                    told[_missing(task, node)] = None
    if told:
        raise PlacementError("speeds are missing:", list(told))


def _missing(task: Task, node: ClusterNode) -> str:
    what = f'model "{task.model}"' if task.model else f'tasks without a model, as "{task.name}"'
    place = f'group "{node.group}"' if node.group else f'node "{node.name}"'
    return (
        f"nothing says how fast {what} is in {place}: add a rate for it, or one for all models "
        "or all nodes under an empty name"
    )
