"""A workflow as a workload: tasks, their needs and times, and how many of a step run at once."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.policies import Profile, Toleration
from couler.ir.walk import HANDLER_PREFIX, HOOKS, all_steps
from couler.ir.workflow import Container, Job, Script, Step, Workflow
from couler.optimizers.durations import known_seconds
from couler.optimizers.placement.flattening import MOST_COPIES, FlatStep, Join, Level, Link, flatten
from couler.optimizers.placement.job_pods import JobPods, pods_of_job, with_replicas
from couler.optimizers.placement.learning import Learned, place_of, speeds_of
from couler.optimizers.placement.pod_needs import (
    ARCHITECTURE_LABEL,
    effective_placement,
    needs_of,
    runs_in_a_pod,
)
from couler.optimizers.placement.problem import Edge, Pipeline, Task, topological_order
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.silent_steps import SILENT_CPU


@dataclass(frozen=True, slots=True)
class Workload:
    """The pipeline that is placed, and the steps that its tasks stand for."""

    pipeline: Pipeline
    steps: Mapping[str, Step]
    step_of: Mapping[str, str]
    gpu_steps: Mapping[str, str]
    items: Mapping[str, int] = field(default_factory=dict)
    unlearned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    jobs: Mapping[str, JobPods] = field(default_factory=dict)
    replica_of: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    guessed: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)


def workload_of(
    workflow: Workflow,
    *,
    cluster: Cluster,
    gpu_models: Collection[str] = (),
    tolerate: Collection[str] = (),
    learned: Learned | None = None,
    done: Collection[str] = (),
) -> Workload:
    """Return the tasks of a workflow."""
    flat, joins, links, limits = flatten(workflow, lambda step: most_copies(step, cluster))
    flat = [one for one in flat if not _is_hook(one.path)]
    known = [seconds for one in flat if (seconds := known_seconds(one.step)) is not None]
    make = TaskMaker(
        workflow, cluster, sum(known) / len(known) if known else 1.0, gpu_models, tolerate, learned
    )
    tasks: list[Task] = []
    step_of: dict[str, str] = {}
    items: dict[str, int] = {}
    guessed: dict[str, float] = {}
    for one in flat:
        if one.path in done:
            tasks += [_no_task(name) for name in _names(one)]
            continue
        task = make.task(one)
        is_known = task.operations or known_seconds(one.step) is not None
        if not is_known and not one.path.startswith(HANDLER_PREFIX):
            guessed[one.path] = task.seconds[""]
        for name, share in zip(_names(one), _shares(one), strict=True):
            takes = {place: seconds * share for place, seconds in task.seconds.items()}
            operations = task.operations * share
            tasks.append(replace(task, name=name, seconds=takes, operations=operations))
            step_of[name] = one.path
        if one.items > 1:
            items[one.path] = round(one.items * one.copies)
    for join in joins:
        tasks += [_no_task(name) for name in _names(join)]
    by_path: dict[str, FlatStep | Join] = {one.path: one for one in flat}
    by_path.update({join.path: join for join in joins})
    edges = [
        edge
        for link in links
        if link.before in by_path and link.after in by_path
        for edge in _edges(link, by_path, done)
    ]
    pipeline = Pipeline(workflow.name, tuple(tasks), tuple(edges))
    held = [
        ([name for path in paths if path in by_path for name in _names(by_path[path])], width)
        for paths, width in limits
    ]
    pipeline = replace(pipeline, edges=(*edges, *lane_edges(pipeline, held)))
    steps = {one.path: one.step for one in flat if one.path not in done}
    jobs = {
        path: pods_of_job(step.action, make.gpu_keys)
        for path, step in steps.items()
        if isinstance(step.action, Job)
    }
    pods = {
        name: jobs[path].replicas
        for name, path in step_of.items()
        if path in jobs and jobs[path].replicas
    }
    pipeline, replica_of = with_replicas(pipeline, pods)
    return Workload(
        pipeline,
        steps,
        step_of,
        make.gpu_steps,
        items,
        make.unlearned,
        jobs,
        replica_of,
        guessed,
        levels={one.path: one.levels for one in flat},
    )


def _is_hook(path: str) -> bool:
    return any(part == HOOKS or part.endswith(f".{HOOKS}") for part in path.split("/"))


def _no_task(name: str) -> Task:
    """Return the task of a join, which may be on any machine."""
    tolerations = (Toleration(operator="Exists"),)
    return Task(name, seconds={"": 0.0}, tolerations=tolerations, is_pod=False)


def _names(one: FlatStep | Join) -> list[str]:
    if one.copies == 1:
        return [one.path]
    return [f"{one.path}[{number}]" for number in range(one.copies)]


def _shares(one: FlatStep) -> list[float]:
    """Return how many items each task of a step stands for: whole ones where they are whole."""
    total = one.items * one.copies
    if abs(total - round(total)) > 1e-6:
        return [one.items] * one.copies
    bounds = [number * round(total) // one.copies for number in range(one.copies + 1)]
    return [float(after - before) for before, after in itertools.pairwise(bounds)]


def _edges(
    link: Link, by_path: Mapping[str, FlatStep | Join], done: Collection[str]
) -> Iterator[Edge]:
    """Yield the edges between the tasks of two steps; each task reads all that it waits for."""
    before, after = by_path[link.before], by_path[link.after]
    size = round(before.output_bytes) if link.reads and link.before not in done else 0
    sources, targets = _blocks(_names(before), link.blocks), _blocks(_names(after), link.blocks)
    for some, others in zip(sources, targets[link.lag :], strict=False):
        for one in some:
            for other in others:
                yield Edge(one, other, size)


def _blocks(names: list[str], count: int) -> list[list[str]]:
    """Cut some into so many parts of equal length."""
    bounds = [number * len(names) // count for number in range(count + 1)]
    return [names[one:other] for one, other in itertools.pairwise(bounds)]


MOST_COPIES_OF_ALL = 512
"""So many tasks stand for a step at most, however much room there is."""

USUAL_OPERATIONS_PER_S = 1e9
"""Puts tasks in an order of which operations are known and no seconds."""


def most_copies(step: Step, cluster: Cluster) -> int:
    """Return how many tasks may stand for a step: as many as have room at once, 64 to 512."""
    needs = needs_of(step)

    def room(node: ClusterNode) -> float:
        cpu = needs.cpu or min(SILENT_CPU, node.cpu)
        shares = [(node.cpu, cpu), (node.memory_bytes, needs.memory_bytes), (node.pods, 1)]
        shares.append((node.gpus.count if node.gpus else 0, needs.gpus))
        return min((has // asked for has, asked in shares if asked), default=math.inf)

    found = sum(room(node) for node in cluster.nodes)
    return int(min(MOST_COPIES_OF_ALL, max(MOST_COPIES, found)))


def lane_edges(pipeline: Pipeline, limits: Sequence[tuple[Sequence[str], int]]) -> Iterator[Edge]:
    """Yield edges by which of some tasks no more than a number run at once."""
    if not limits:
        return
    starts = _starts(pipeline)
    known = {(edge.source, edge.target) for edge in pipeline.edges}
    for names, width in limits:
        lanes = [(0.0, number, "") for number in range(width)]
        for name in sorted(names, key=starts.__getitem__):
            free, number, before = lanes[0]
            start, _, seconds = starts[name]
            heapq.heapreplace(lanes, (max(free, start) + seconds, number, name))
            if before and (before, name) not in known:
                known.add((before, name))
                yield Edge(before, name)


def _starts(pipeline: Pipeline) -> dict[str, tuple[float, int, float]]:
    """Return when each task could start, its place in an order of all, and how long it takes."""
    order = topological_order(pipeline)
    names = [task.name for task in pipeline.tasks]
    seconds = dict(zip(names, map(_seconds, pipeline.tasks), strict=True))
    befores: dict[str, list[str]] = {name: [] for name in names}
    for edge in pipeline.edges:
        befores[edge.target].append(edge.source)
    found: dict[str, tuple[float, int, float]] = {}
    for place, name in enumerate(names[number] for number in order):
        ends = (start + takes for start, _, takes in (found[one] for one in befores[name]))
        found[name] = max(ends, default=0.0), place, seconds[name]
    return found


def _seconds(task: Task) -> float:
    known = task.seconds.get("")
    return task.operations / USUAL_OPERATIONS_PER_S if known is None else known


class TaskMaker:
    """Makes the tasks of the steps of one workflow."""

    def __init__(
        self,
        workflow: Workflow,
        cluster: Cluster,
        usual_s: float,
        gpu_models: Collection[str],
        tolerate: Collection[str],
        learned: Learned | None,
    ) -> None:
        self._settings = workflow.pod
        self._speeds = speeds_of(cluster, learned)
        self._learned = {model for model, _ in learned or ()}
        self._stated = {speed.model for speed in cluster.speeds}
        self._usual_s = usual_s
        self._gpu_models = frozenset(gpu_models)
        self._tolerate = tuple(tolerate)
        gpus = (node.gpus.resource for node in cluster.nodes if node.gpus is not None)
        self.gpu_keys = tuple(dict.fromkeys(gpus))
        self._named = {place for _, place in self._speeds.rates}
        placements = [effective_placement(step, workflow.pod) for step in all_steps(workflow)]
        selected = {pair for one in placements for pair in one.node_selector.items()}
        self._nodes = _unlike(cluster, self._named, selected)
        self.gpu_steps: dict[str, str] = {}
        self.unlearned: dict[str, tuple[str, ...]] = {}

    def task(self, one: FlatStep) -> Task:
        """Return the task of one item of a step, by its path."""
        step = one.step
        profile = step.profile or Profile()
        seconds = known_seconds(step)
        operations = profile.operations or 0.0
        if seconds is None and profile.operations is not None:
            seconds = profile.operations / USUAL_OPERATIONS_PER_S
        if one.path.startswith(HANDLER_PREFIX):
            operations, seconds = 0.0, 0.0
        task = Task(
            one.path,
            kind=profile.task or "other",
            model=profile.model or "",
            seconds={"": self._seconds(seconds)},
        )
        if not runs_in_a_pod(step):
            task = replace(task, tolerations=(Toleration(operator="Exists"),))
            return self._with_operations(replace(task, is_pod=False), operations, one.path)
        needs = needs_of(step, self._settings)
        placement = effective_placement(step, self._settings)
        selector = dict(placement.node_selector)
        task = replace(
            task,
            cpu=needs.cpu or SILENT_CPU,
            assumes_cpu=not needs.cpu,
            memory_bytes=max(needs.memory_bytes, profile.memory_bytes or 0),
            gpus=needs.gpus,
            gpu_type=needs.gpu_type,
            gpu_resource=needs.gpu_resource,
            architecture=selector.pop(ARCHITECTURE_LABEL, None),
            selector=selector,
            tolerations=(*placement.tolerations, *map(_tolerated, self._tolerate)),
        )
        if needs.gpus:
            return self._with_operations(self._with_gpu_taints(task), operations, one.path)
        may_have_one = isinstance(step.action, Container | Script)
        if profile.model in self._gpu_models and may_have_one:
            others = [self._with_one_gpu(task, resource) for resource in self.gpu_keys]
            return self._with_gpu(self._with_operations(task, operations, one.path, others))
        return self._with_operations(task, operations, one.path)

    def _with_operations(
        self, task: Task, operations: float, path: str, others: Sequence[Task] = ()
    ) -> Task:
        """A task that takes as long as its operations do, if the speeds for that are known."""
        if not operations:
            return task
        if "" not in self._stated and task.model not in self._stated:
            if task.model not in self._learned:
                return task
            missing = self._unknown((task, *others))
            if missing:
                self.unlearned[path] = missing
                return task
        return replace(task, operations=operations, seconds={})

    def _unknown(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Return the groups that can run one of some tasks, and of whose speed nothing is known."""
        found = (
            place_of(node, self._named)
            for node in self._nodes
            if self._speeds.rate(tasks[0].model, node) is None
            if any(refusal(task, node, 1.0) is None for task in tasks)
        )
        return tuple(dict.fromkeys(found))

    def _seconds(self, known: float | None) -> float:
        return self._usual_s if known is None else known

    def _with_gpu_taints(self, task: Task) -> Task:
        return replace(task, tolerations=(*task.tolerations, *map(_tolerated, self.gpu_keys)))

    def _with_one_gpu(self, task: Task, resource: str) -> Task:
        return self._with_gpu_taints(replace(task, gpus=1, gpu_resource=resource))

    def _with_gpu(self, task: Task) -> Task:
        """Return a task with a GPU if one makes it faster than all machines without."""
        best, best_s = task, self._least_s(task)
        for resource in self.gpu_keys:
            with_gpu = self._with_one_gpu(task, resource)
            seconds = self._least_s(with_gpu)
            if seconds < best_s:
                best, best_s = with_gpu, seconds
        if best is not task:
            self.gpu_steps[task.name] = str(best.gpu_resource)
        return best

    def _least_s(self, task: Task) -> float:
        without = not task.gpus
        return min(
            (
                self._speeds.seconds(task, node)
                for node in self._nodes
                if (node.gpus is None) is without and refusal(task, node, 1.0) is None
                if not task.operations or self._speeds.rate(task.model, node) is not None
            ),
            default=math.inf,
        )


def _unlike(
    cluster: Cluster, named: Collection[str], selected: Collection[tuple[str, str]]
) -> tuple[ClusterNode, ...]:
    """Return nodes for all: for each other one there is one as fast that can run what that can."""
    alike: dict[object, list[ClusterNode]] = {}
    for node in cluster.nodes:
        name = node.name if node.name in named else ""
        labels = frozenset(pair for pair in node.labels.items() if pair in selected)
        key = name, node.group, node.architecture, node.gpus, node.taints, labels
        alike.setdefault(key, []).append(node)
    found: list[ClusterNode] = []
    for some in alike.values():
        most = 0
        for node in sorted(some, key=lambda one: (-one.cpu, -one.memory_bytes)):
            if node.memory_bytes > most:
                most = node.memory_bytes
                found.append(node)
    return tuple(found)


def _tolerated(key: str) -> Toleration:
    return Toleration(key=key, operator="Exists")
