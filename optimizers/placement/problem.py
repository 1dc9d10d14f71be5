"""What is placed: tasks in pipelines, and where each of them goes."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from couler.ir.policies import Toleration

TaskKind: t.TypeAlias = t.Literal["preprocessing", "training", "evaluation", "other"]
"""The three kinds of the paper, and all else."""

TaskKey: t.TypeAlias = tuple[str, str]
"""A task among all: the names of its pipeline and of itself."""


@dataclass(frozen=True, slots=True)
class Task:
    """A step, as far as choosing a machine for it needs to know."""

    name: str
    kind: TaskKind = "other"
    model: str = ""
    operations: float = 0.0
    memory_bytes: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    cpu: float = 0.0
    gpus: int = 0
    gpu_type: str | None = None
    architecture: str | None = None
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    gpu_resource: str | None = None
    assumes_cpu: bool = False
    is_pod: bool = True


@dataclass(frozen=True, slots=True)
class Edge:
    """A task reads what another one of its pipeline made."""

    source: str
    target: str
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Tasks that are submitted together."""

    name: str
    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...] = ()
    arrival_s: float = 0.0

    @classmethod
    def chain(
        cls,
        name: str,
        tasks: Iterable[Task],
        *,
        arrival_s: float = 0.0,
        moved_bytes: Sequence[int] = (),
    ) -> Pipeline:
        """Return a pipeline whose tasks run one after the other."""
        tasks = tuple(tasks)
        sizes = moved_bytes or [0] * (len(tasks) - 1)
        edges = (
            Edge(one.name, other.name, size)
            for one, other, size in zip(tasks, tasks[1:], sizes, strict=False)
        )
        return cls(name, tasks, tuple(edges), arrival_s)

    @property
    def operations(self) -> float:
        """The sum of its tasks' operations: its length, as the paper takes it."""
        return sum(task.operations for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Choice:
    """Why a task goes to its node."""

    pipeline: str
    task: str
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where tasks go, and in which order they should start."""

    nodes: Mapping[TaskKey, str]
    order: tuple[TaskKey, ...]
    choices: tuple[Choice, ...] = ()

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The names of the pipelines, in the order in which they should start."""
        return tuple(dict.fromkeys(pipeline for pipeline, _ in self.order))


def topological_order(pipeline: Pipeline) -> tuple[int, ...]:
    """Return the positions of tasks, each after those it reads from, and else as they stand."""
    place = {task.name: number for number, task in enumerate(pipeline.tasks)}
    after: list[list[int]] = [[] for _ in pipeline.tasks]
    waits = [0] * len(pipeline.tasks)
    for edge in pipeline.edges:
        after[place[edge.source]].append(place[edge.target])
        waits[place[edge.target]] += 1
    found = [number for number, count in enumerate(waits) if not count]
    for number in found:
        for one in after[number]:
            waits[one] -= 1
            if not waits[one]:
                found.append(one)
    return tuple(found)
