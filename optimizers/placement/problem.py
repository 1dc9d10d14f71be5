"""What is placed: tasks in pipelines, and where each of them goes."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from couler.errors import PlacementError
from couler.ir.diagnostics import did_you_mean
from couler.ir.policies import Toleration

__all__ = [
    "Assignment",
    "Choice",
    "Edge",
    "Pipeline",
    "Task",
    "TaskKey",
    "TaskKind",
    "check_pipelines",
    "topological_order",
]

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
        if edge.source not in place or edge.target not in place:
            raise PlacementError("pipelines are wrong:", _edge_problems(pipeline))
        after[place[edge.source]].append(place[edge.target])
        waits[place[edge.target]] += 1
    found = [number for number, count in enumerate(waits) if not count]
    for number in found:
        for one in after[number]:
            waits[one] -= 1
            if not waits[one]:
                found.append(one)
    if len(found) < len(pipeline.tasks):
        names = ", ".join(pipeline.tasks[n].name for n, count in enumerate(waits) if count)
        raise PlacementError(
            "pipelines are wrong:",
            [f'pipeline "{pipeline.name}": {names} wait for each other, or for a circle of tasks'],
        )
    return tuple(found)


def check_pipelines(pipelines: Sequence[Pipeline]) -> None:
    """Refuse pipelines that cannot be meant."""
    problems: list[str] = []
    names: set[str] = set()
    for pipeline in pipelines:
        if pipeline.name in names:
            problems.append(f'two pipelines are called "{pipeline.name}": rename one')
        names.add(pipeline.name)
        wrong = [*_task_problems(pipeline), *_edge_problems(pipeline)]
        problems += wrong
        if not wrong:
            try:
                topological_order(pipeline)
            except PlacementError as error:
                problems += error.problems
    if problems:
        raise PlacementError("pipelines are wrong:", problems)


def _task_problems(pipeline: Pipeline) -> Iterable[str]:
    where = f'pipeline "{pipeline.name}"'
    if not _is_amount(pipeline.arrival_s):
        yield f"{where}: arrival_s must be at least 0, not {pipeline.arrival_s}"
    seen: set[str] = set()
    for task in pipeline.tasks:
        if task.name in seen:
            yield f'{where}: two tasks are called "{task.name}": rename one'
        seen.add(task.name)
        amounts = {
            "operations": task.operations,
            "memory_bytes": task.memory_bytes,
            "cpu": task.cpu,
            "gpus": task.gpus,
            **{f"seconds on {place or 'others'}": s for place, s in task.seconds.items()},
        }
        for what, amount in amounts.items():
            if not _is_amount(amount):
                yield f'{where}, task "{task.name}": {what} must be at least 0, not {amount}'


def _edge_problems(pipeline: Pipeline) -> list[str]:
    names = [task.name for task in pipeline.tasks]
    known = set(names)
    found = [
        f'pipeline "{pipeline.name}": an edge names "{name}", which is no task of it.'
        f"{did_you_mean(name, names)}"
        for edge in pipeline.edges
        for name in (edge.source, edge.target)
        if name not in known
    ]
    found += [
        f'pipeline "{pipeline.name}": the edge from "{edge.source}" to "{edge.target}" must have '
        f"size_bytes of at least 0, not {edge.size_bytes}"
        for edge in pipeline.edges
        if not _is_amount(edge.size_bytes)
    ]
    return found


def _is_amount(number: float) -> bool:
    return math.isfinite(number) and number >= 0
