"""A workflow as what strategies of placement are asked: tasks, with what each needs and takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.paths import HANDLER_PREFIX
from couler.ir.policies import Profile, Toleration
from couler.ir.walk import HOOKS
from couler.ir.workflow import Container, Job, Script, Step, Workflow
from couler.optimizers.durations import known_seconds
from couler.optimizers.placement.flattening import FlatStep, Join, Link, flatten
from couler.optimizers.placement.job_pods import JobPods, pods_of_job, with_replicas
from couler.optimizers.placement.learning import Learned, place_of
from couler.optimizers.placement.parallelism import (
    USUAL_OPERATIONS_PER_S,
    lane_edges,
    most_copies,
)
from couler.optimizers.placement.pod_needs import (
    ARCHITECTURE_LABEL,
    effective_placement,
    needs_of,
    runs_in_a_pod,
)
from couler.optimizers.placement.problem import Edge, Pipeline, Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.placement.scaling import scaled_speeds, stated_rates
from couler.optimizers.placement.speeds import Speeds

__all__ = [
    "ARCHITECTURE_LABEL",
    "HOSTNAME_LABEL",
    "OS_LABEL",
    "Workload",
    "speeds_of",
    "workload_of",
]

HOSTNAME_LABEL = "kubernetes.io/hostname"
OS_LABEL = "kubernetes.io/os"


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
        The path of the step of each task. Those of steps that are done have none, nor have joins:
        tasks of no length, each waited for in place of many others.
    gpu_steps
        The steps that get a GPU, though they request none, and the name of GPUs that they get.
    unlearned
        The steps of whose model something was learned that is not used, as of these groups nothing
        is known.
    jobs
        The pods of the steps that create a resource, by the paths of the steps.
    replica_of
        The path of the step and the type of the pod of each task that is the pod of a job. Such
        tasks have no `step_of`; the task of the step itself waits for them.
    """

    pipeline: Pipeline
    steps: Mapping[str, Step]
    step_of: Mapping[str, str]
    gpu_steps: Mapping[str, str]
    unlearned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    jobs: Mapping[str, JobPods] = field(default_factory=dict)
    replica_of: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def workload_of(
    workflow: Workflow,
    *,
    cluster: Cluster,
    gpu_models: Collection[str] = (),
    tolerate: Collection[str] = (),
    learned: Learned | None = None,
    done: Collection[str] = (),
) -> Workload:
    """Return the tasks of a workflow.

    Parameters
    ----------
    workflow
        Verified, and without defaults.
    cluster
        The machines, and what is stated of their speeds.
    gpu_models
        Kinds of models that use a GPU: a step of one that requests none gets one if some machine
        with GPUs that can run it then is faster than all others.
    tolerate
        Keys of taints that all steps tolerate.
    learned
        Speeds that earlier runs have shown, which go before those that are stated.
    done
        Paths of steps that have ended and do not run again: they take no time and need no machine.

    Notes
    -----
    A task needs what its pod requests (`needs_of`), and the memory of its profile if that is more;
    `Task.memory_bytes` is one byte less, for strategies with a `memory_margin` of 1.

    Operations are divided by the speed of a machine where speeds are stated for the step's kind of
    model, or for all kinds; or where speeds of its kind are learned, and of each machine that can
    run it one is learned or stated. Else its seconds stand for any machine; where they are not
    known, operations over 1e9. A step of which neither is known takes as long as the others on the
    mean, or one second if nobody knows any. Each pod of a job takes as long as the job, and its
    room besides (`pods_of_job`). Steps of exit handlers take no time here, as most of them run only
    after all else; hooks are left out, and other steps that run in no pod take their time but need
    nothing.

    Steps that use GPUs tolerate taints whose keys are the names of GPUs of the cluster, as
    Kubernetes lets them.
    """
    flat, joins, links, limits = flatten(workflow, lambda step: most_copies(step, cluster))
    flat = [one for one in flat if not _is_hook(one.path)]
    known = [seconds for one in flat if (seconds := known_seconds(one.step)) is not None]
    make = _TaskMaker(
        workflow, cluster, sum(known) / len(known) if known else 1.0, gpu_models, tolerate, learned
    )
    tasks: list[Task] = []
    step_of: dict[str, str] = {}
    for one in flat:
        if one.path in done:
            tasks += [_no_task(name) for name in _names(one)]
            continue
        task = make.task(one)
        for name in _names(one):
            tasks.append(replace(task, name=name))
            step_of[name] = one.path
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
    pipeline, owners = with_replicas(pipeline, pods)
    replica_of = {name: (step_of[task], type_) for name, (task, type_) in owners.items()}
    return Workload(pipeline, steps, step_of, make.gpu_steps, make.unlearned, jobs, replica_of)


def speeds_of(cluster: Cluster, learned: Learned | None = None) -> Speeds:
    """Return what earlier runs and a cluster say of its speeds; nothing else is made up.

    Where only some groups have shown a speed of a kind of model, those that are stated for the
    others are scaled (`scaled_speeds`).
    """
    learned = learned or {}
    rates = stated_rates(cluster)
    scaled = scaled_speeds(cluster, learned)
    rates.update({(one.model, one.place): one.ops_per_s for one in scaled})
    rates.update({which: rate.ops_per_s for which, rate in learned.items()})
    return Speeds(rates, cluster.bandwidth_bytes_per_s, start_s=cluster.pod_start_s)


class _TaskMaker:
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
        self._cluster = cluster
        self._speeds = speeds_of(cluster, learned)
        self._learned = {model for model, _ in learned or ()}
        self._stated = {speed.model for speed in cluster.speeds}
        self._usual_s = usual_s
        self._gpu_models = frozenset(gpu_models)
        self._tolerate = tuple(tolerate)
        gpus = (node.gpus.resource for node in cluster.nodes if node.gpus is not None)
        self.gpu_keys = tuple(dict.fromkeys(gpus))
        self._named = {place for _, place in self._speeds.rates}
        self._unlike = _unlike(cluster, self._named)
        self.gpu_steps: dict[str, str] = {}
        self.unlearned: dict[str, tuple[str, ...]] = {}

    def task(self, one: FlatStep) -> Task:
        """Return the task of a step, by its path."""
        step = one.step
        profile = step.profile or Profile()
        seconds = known_seconds(step)
        operations = (profile.operations or 0.0) * one.items
        if seconds is None and profile.operations is not None:
            seconds = profile.operations / USUAL_OPERATIONS_PER_S
        if one.path.startswith(HANDLER_PREFIX):
            operations, seconds = 0.0, 0.0
        task = Task(
            one.path,
            kind=profile.task or "other",
            model=profile.model or "",
            seconds={"": self._seconds(seconds) * one.items},
        )
        if not runs_in_a_pod(step):
            task = replace(task, tolerations=(Toleration(operator="Exists"),))
            return self._with_operations(task, operations, one.path)
        needs = needs_of(step, self._settings)
        placement = effective_placement(step, self._settings)
        selector = dict(placement.node_selector)
        task = replace(
            task,
            cpu=needs.cpu,
            memory_bytes=max(0, max(needs.memory_bytes, profile.memory_bytes or 0) - 1),
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
        """Return a task that takes as long as its operations do, if the speeds for that are known.

        Parameters
        ----------
        task
            The task, which takes its seconds.
        operations
            What it computes.
        path
            Where its step is.
        others
            What may become of the task.
        """
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
            for node in self._nodes_for(tasks[0])
            if self._speeds.rate(tasks[0].model, node) is None
            if any(refusal(task, node, 1.0) is None for task in tasks)
        )
        return tuple(dict.fromkeys(found))

    def _nodes_for(self, task: Task) -> Sequence[ClusterNode]:
        return self._cluster.nodes if HOSTNAME_LABEL in task.selector else self._unlike

    def _seconds(self, known: float | None) -> float:
        return self._usual_s if known is None else known

    def _with_gpu_taints(self, task: Task) -> Task:
        return replace(task, tolerations=(*task.tolerations, *map(_tolerated, self.gpu_keys)))

    def _with_one_gpu(self, task: Task, resource: str) -> Task:
        return self._with_gpu_taints(replace(task, gpus=1, gpu_resource=resource))

    def _with_gpu(self, task: Task) -> Task:
        """Return a task with a GPU if one makes it faster than all machines without."""
        nodes = self._nodes_for(task)
        best, best_s = task, self._least_s(task, nodes)
        for resource in self.gpu_keys:
            with_gpu = self._with_one_gpu(task, resource)
            seconds = self._least_s(with_gpu, nodes)
            if seconds < best_s:
                best, best_s = with_gpu, seconds
        if best is not task:
            self.gpu_steps[task.name] = str(best.gpu_resource)
        return best

    def _least_s(self, task: Task, nodes: Sequence[ClusterNode]) -> float:
        without = not task.gpus
        return min(
            (
                self._speeds.seconds(task, node)
                for node in nodes
                if (node.gpus is None) is without and refusal(task, node, 1.0) is None
                if not task.operations or self._speeds.rate(task.model, node) is not None
            ),
            default=math.inf,
        )


def _unlike(cluster: Cluster, named: Collection[str]) -> tuple[ClusterNode, ...]:
    """Return one of all nodes each that are alike but for their names, where speeds name none."""
    found: dict[object, ClusterNode] = {}
    for node in cluster.nodes:
        labels = {(key, value) for key, value in node.labels.items() if key != HOSTNAME_LABEL}
        name = node.name if node.name in named else ""
        alike = replace(node, name=name, labels={}, pool="")
        key = (name, frozenset(labels), alike.group, alike.cpu, alike.memory_bytes)
        found.setdefault((*key, alike.architecture, alike.gpus, alike.taints), node)
    return tuple(found.values())


def _tolerated(key: str) -> Toleration:
    return Toleration(key=key, operator="Exists")


def _is_hook(path: str) -> bool:
    return any(part == HOOKS or part.endswith(f".{HOOKS}") for part in path.split("/"))


def _no_task(name: str) -> Task:
    """Return the task of a join, which may be on any machine."""
    return Task(name, seconds={"": 0.0}, tolerations=(Toleration(operator="Exists"),))


def _names(one: FlatStep | Join) -> list[str]:
    if one.copies == 1:
        return [one.path]
    return [f"{one.path}[{number}]" for number in range(one.copies)]


def _edges(
    link: Link, by_path: Mapping[str, FlatStep | Join], done: Collection[str]
) -> Iterator[Edge]:
    """Yield the edges between the tasks of two steps; each task reads all that it waits for.

    What a step has made that is done lies in the store, as far from one machine as from another.
    """
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
