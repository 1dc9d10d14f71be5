"""A workflow as what strategies of placement are asked: tasks, with what each needs and takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from couler.cluster.model import Cluster
from couler.ir.policies import Profile, Resources, Toleration
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Step, Workflow
from couler.optimizers.durations import known_seconds
from couler.optimizers.placement.flattening import FlatStep, Join, Link, flatten
from couler.optimizers.placement.parallelism import lane_edges, most_copies
from couler.optimizers.placement.problem import Edge, Pipeline, Task
from couler.optimizers.placement.speeds import Speeds

__all__ = ["ARCHITECTURE_LABEL", "HOSTNAME_LABEL", "Workload", "speeds_of", "workload_of"]

ARCHITECTURE_LABEL = "kubernetes.io/arch"
HOSTNAME_LABEL = "kubernetes.io/hostname"
USUAL_OPERATIONS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Workload:
    """What is placed.

    Attributes
    ----------
    pipeline
        The tasks: a step's own path, or its path and a number for each task of a foreach.
    steps
        The steps of the tasks by their paths, in the order of the workflow.
    step_of
        The path of the step of each task, but for joins.
    joins
        Tasks of no length that are no steps, each waited for in place of many others. Wherever
        nodes are given time to start a task, they take that time.
    """

    pipeline: Pipeline
    steps: Mapping[str, Step]
    step_of: Mapping[str, str]
    joins: frozenset[str] = frozenset()


def workload_of(
    workflow: Workflow,
    *,
    cluster: Cluster,
    margin: float,
    gpu_models: Collection[str] = (),
    tolerate: Collection[str] = (),
) -> Workload:
    """Return the tasks of a workflow.

    Parameters
    ----------
    workflow
        Verified, and without defaults.
    cluster
        The machines, and what is stated of their speeds.
    margin
        The memory of a node must be above so many times the data of a task (`Task.memory_bytes`),
        which are told so that this comes to what the step needs: what it requests, or what its
        profile says, whichever is more.
    gpu_models
        Kinds of models that use a GPU where there is one, though their steps request none.
    tolerate
        Keys of taints that all steps tolerate.

    Notes
    -----
    Operations are divided by the speed of a machine where speeds are stated for the step's kind of
    model, or for all kinds. Else its seconds stand for any machine; where they are not known,
    operations at the speeds of `speeds_of`. A step of which neither is known takes as long as the
    others on the mean, or one second if nobody knows any.

    Steps that use GPUs tolerate taints whose keys are the names of GPUs of the cluster, as
    Kubernetes lets them.
    """
    flat, joins, links, limits = flatten(workflow, lambda step: most_copies(step, cluster))
    stated = {speed.model for speed in cluster.speeds}
    gpu_keys = {node.gpus.resource: None for node in cluster.nodes if node.gpus is not None}
    known = [seconds for one in flat if (seconds := known_seconds(one.step)) is not None]
    usual = sum(known) / len(known) if known else 1.0
    tasks: list[Task] = []
    step_of: dict[str, str] = {}
    for one in flat:
        tolerated = (*tolerate, *(gpu_keys if _uses_gpus(one.step, gpu_models) else ()))
        task = _task(one, usual, margin, tolerated, stated)
        for name in _names(one):
            tasks.append(replace(task, name=name))
            step_of[name] = one.path
    for join in joins:
        tasks += [_no_task(name) for name in _names(join)]
    by_path: dict[str, FlatStep | Join] = {one.path: one for one in flat}
    by_path.update({join.path: join for join in joins})
    edges = [edge for link in links for edge in _edges(link, by_path)]
    pipeline = Pipeline(workflow.name, tuple(tasks), tuple(edges))
    held = [
        ([name for path in paths for name in _names(by_path[path])], width)
        for paths, width in limits
    ]
    pipeline = replace(pipeline, edges=(*edges, *lane_edges(pipeline, held)))
    steps = {one.path: one.step for one in flat}
    return Workload(pipeline, steps, step_of, frozenset(task.name for task in tasks) - set(step_of))


def speeds_of(cluster: Cluster) -> Speeds:
    """Return what a cluster says of its speeds, with one for whatever it says nothing of.

    That is the least of what is stated for all kinds of models, or if there is none the least of
    all that is stated; and if nothing is, 1e9 operations a second, by which tasks can be put in an
    order.
    """
    stated = {(speed.model, speed.group): speed.operations_per_s for speed in cluster.speeds}
    of_all = [rate for (model, _), rate in stated.items() if not model]
    least = min(of_all or stated.values(), default=USUAL_OPERATIONS_PER_S)
    rates = {("", ""): least, **stated}
    return Speeds(rates, cluster.bandwidth_bytes_per_s, start_s=cluster.pod_start_s)


def _uses_gpus(step: Step, gpu_models: Collection[str]) -> bool:
    asked = step.resources is not None and step.resources.gpu is not None
    return asked or (step.profile is not None and step.profile.model in gpu_models)


def _task(
    one: FlatStep,
    usual: float,
    margin: float,
    tolerated: Collection[str],
    stated: Collection[str],
) -> Task:
    step = one.step
    profile = step.profile or Profile()
    resources = step.resources or Resources()
    gpu = resources.gpu
    placement = step.placement
    selector = {} if placement is None else dict(placement.node_selector)
    tolerations = () if placement is None else placement.tolerations
    tolerations += tuple(Toleration(key=key, operator="Exists") for key in tolerated)
    seconds = known_seconds(step)
    has_speed = seconds is None or "" in stated or profile.model in stated
    operations = profile.operations if has_speed else None
    return Task(
        one.path,
        kind=profile.task or "other",
        model=profile.model or "",
        operations=(operations or 0.0) * one.items,
        memory_bytes=_memory_bytes(profile, resources, margin),
        seconds={} if operations else {"": (usual if seconds is None else seconds) * one.items},
        cpu=float(parse_quantity(resources.cpu)) if resources.cpu is not None else 0.0,
        gpus=0 if gpu is None else gpu.count,
        gpu_type=None if gpu is None else gpu.type,
        architecture=selector.pop(ARCHITECTURE_LABEL, None),
        selector=selector,
        tolerations=tolerations,
    )


def _memory_bytes(profile: Profile, resources: Resources, margin: float) -> int:
    requested = 0 if resources.memory is None else math.ceil(parse_quantity(resources.memory))
    needed = max(requested, profile.memory_bytes or 0)
    # A node must have more than the margin times the data; having just what is needed will do.
    return math.floor((needed - 1) / margin) if needed and margin > 0 else 0


def _no_task(name: str) -> Task:
    """Return the task of a join, which may be on any machine."""
    return Task(name, seconds={"": 0.0}, tolerations=(Toleration(operator="Exists"),))


def _names(one: FlatStep | Join) -> list[str]:
    if one.copies == 1:
        return [one.path]
    return [f"{one.path}[{number}]" for number in range(one.copies)]


def _edges(link: Link, by_path: Mapping[str, FlatStep | Join]) -> Iterator[Edge]:
    """Yield the edges between the tasks of two steps; each task reads all that it waits for."""
    before, after = by_path[link.before], by_path[link.after]
    size = round(before.output_bytes) if link.reads else 0
    sources, targets = _blocks(_names(before), link.blocks), _blocks(_names(after), link.blocks)
    for some, others in zip(sources, targets[link.lag :], strict=False):
        for one in some:
            for other in others:
                yield Edge(one, other, size)


def _blocks(names: list[str], count: int) -> list[list[str]]:
    """Cut some into so many parts of equal length."""
    bounds = [number * len(names) // count for number in range(count + 1)]
    return [names[one:other] for one, other in itertools.pairwise(bounds)]
