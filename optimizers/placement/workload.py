"""A workflow as what strategies of placement are asked: tasks, with what each needs and takes."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from couler.cluster.model import Cluster
from couler.ir.paths import HANDLER_PREFIX
from couler.ir.policies import Toleration
from couler.ir.walk import HOOKS
from couler.ir.workflow import Job, Step, Workflow
from couler.optimizers.durations import known_seconds
from couler.optimizers.placement.flattening import FlatStep, Join, Level, Link, flatten
from couler.optimizers.placement.job_pods import JobPods, pods_of_job, with_replicas
from couler.optimizers.placement.learning import Learned
from couler.optimizers.placement.parallelism import lane_edges, most_copies
from couler.optimizers.placement.problem import Edge, Pipeline, Task
from couler.optimizers.placement.task_making import TaskMaker

__all__ = ["Workload", "workload_of"]


@dataclass(frozen=True, slots=True)
class Workload:
    """What is placed."""

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
