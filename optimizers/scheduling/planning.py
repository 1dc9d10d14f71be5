"""Plans for the training jobs of workflows: sizes by slot by OASiS, or a node for each."""

from __future__ import annotations

import hashlib
import re
import typing as t
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from couler.cluster.controller import PlannedJob
from couler.cluster.elastic import Elastic
from couler.cluster.model import Cluster, ClusterNode
from couler.cluster.objects import HOST_LABEL, PLURALS, SPECS
from couler.errors import PlacementError
from couler.ir.walk import predecessors
from couler.ir.workflow import Group, Job, Step, Workflow
from couler.optimizers.placement.job_pods import Replicas, pods_of_job
from couler.optimizers.placement.problem import Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.scheduling.migration import MigrationRule, RemainingWork, SpeCon
from couler.optimizers.scheduling.oasis import Decision, Oasis
from couler.optimizers.scheduling.prices import calibrated_prices, paper_prices
from couler.optimizers.scheduling.training import ElasticJob, Floats, MachinePool, Sigmoid

RESOURCES = ("gpu", "cpu", "memory_gib")
_GIB = 2**30

SERVER_GROUP = "servers"
"""Nodes of this group host parameter servers and no workers."""

PriceKind: t.TypeAlias = t.Literal["calibrated", "paper"]
PlanPolicy: t.TypeAlias = t.Literal["oasis", "specon", "remaining-work"]

_LONGEST_NAME = 45
"""Operators append the replica to the name of a job, and 63 characters are the limit."""

_MOST_CELLS = 100_000_000
"""Of the table of a job's costs, 8 bytes each."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to plan: the policy, the slots and prices of OASiS, and the interval of decisions."""

    policy: PlanPolicy
    slot_s: float
    slots: int
    prices: PriceKind
    interval_s: float


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A job that a workflow creates: the name of its object, and the object."""

    name: str
    manifest: dict[str, t.Any]

    @property
    def elastic(self) -> Elastic:
        """Its work and value.

        Raises
        ------
        PlacementError
            It does not state them, or not rightly.
        """
        try:
            found = Elastic.of(self.manifest)
        except ValueError as error:
            raise PlacementError(f"{self.name}: {error}") from error
        if found is None:
            raise PlacementError(
                f"{self.name} does not state its work. Give it elastic=couler.Elastic(...)"
            )
        return found

    @property
    def replicas(self) -> tuple[Replicas, ...]:
        """Its pods."""
        return pods_of_job(Job(manifest=self.manifest)).replicas

    @property
    def worker(self) -> Task | None:
        """What a worker requests: the most of those and of the replica that works beside them."""
        tasks = [self.task(type_) for type_ in ("Worker", "Master", "Chief")]
        worker, others = tasks[0], [one for one in tasks[1:] if one is not None]
        if worker is None or not others:
            return worker
        known = (worker, *others)
        return replace(
            worker,
            cpu=max(one.cpu for one in known),
            memory_bytes=max(one.memory_bytes for one in known),
            gpus=max(one.gpus for one in known),
        )

    def task(self, type_: str) -> Task | None:
        """Return what a pod of a type requests; None if it has none."""
        return next((one.task for one in self.replicas if one.type == type_), None)


def training_jobs(workflows: Sequence[Workflow]) -> list[ClusterJob]:
    """Return the jobs that workflows create.

    Raises
    ------
    PlacementError
        A workflow creates none, or one that cannot be planned, or two have one name.
    """
    found: list[ClusterJob] = []
    for workflow in workflows:
        jobs = list(_jobs_of(workflow, workflow.steps, ()))
        if not jobs:
            raise PlacementError(
                f"the workflow {workflow.name} has no training job. A plan is of PyTorchJob, "
                "TFJob, MPIJob and Job, as pytorch.train and couler.run_job create them"
            )
        found += jobs
    names = [job.name for job in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlacementError(
            f"two jobs are called {twice}. Give their steps or workflows other names"
        )
    return found


def plan_sizes(
    jobs: Sequence[ClusterJob],
    cluster: Cluster,
    options: PlanOptions,
    *,
    running: Sequence[PlannedJob] = (),
    first: int = 0,
) -> tuple[list[PlannedJob], list[dict[str, float]]]:
    """Offer jobs to OASiS, in their order.

    Parameters
    ----------
    jobs
        The jobs, all of which arrive now.
    cluster
        The machines.
    options
        The slots, and how prices are set: by these jobs and those that run.
    running
        Jobs of the same plan that were admitted before, and keep what they have.
    first
        Number of the current slot.

    Returns
    -------
    tuple
        The jobs with their slots, and the price of each resource by slot from the current one on,
        averaged over the nodes for workers.

    Raises
    ------
    PlacementError
        A job does not state its work or cannot change its size, or no node can host its pods.
    """
    earlier = [job for job in running if not job.is_over and job.slots]
    known = [ClusterJob(job.name, job.manifest) for job in earlier]
    nodes = _Nodes(cluster, any(job.task("PS") for job in (*jobs, *known)))
    training = [_training(job, nodes, options.slot_s, first) for job in (*jobs, *known)]
    for one in training:
        cells = one.work * options.slots
        if cells > _MOST_CELLS and one.work <= options.slots * one.chunks:
            raise PlacementError(
                f"{one.name} needs {one.work:,} worker-slots in {options.slots:,} slots, too many "
                "to plan. Give a longer --slot, or fewer --slots"
            )
    horizon = first + options.slots
    prices = (
        paper_prices(training, nodes.machines, horizon)
        if options.prices == "paper"
        else calibrated_prices(training, nodes.machines, options.slots)
    )
    oasis = Oasis(nodes.machines, horizon, prices)
    for job in earlier:
        nodes.occupy(oasis, job, first)
    made = [nodes.planned(job, oasis.offer(one)) for job, one in zip(jobs, training, strict=False)]
    means = oasis.worker_prices().mean(axis=1)[first:]
    return made, [dict(zip(RESOURCES, map(float, row), strict=True)) for row in means]


def plan_nodes(
    jobs: Sequence[ClusterJob], cluster: Cluster, running: Sequence[PlannedJob] = ()
) -> list[PlannedJob]:
    """Give each job a node, in turn among those that can host all of its pods.

    Jobs share the processors of a node, but not its GPUs.

    Raises
    ------
    PlacementError
        No node can host a job, or a node is of a pool, whose names are not those of real nodes.
    """
    for node in cluster.nodes:
        if node.pool and HOST_LABEL not in node.labels:
            raise PlacementError(
                f"moves need the real names of nodes, and {node.name} is of the pool {node.pool}. "
                "Write the cluster file with `couler cluster import`"
            )
    turns = Counter(job.node for job in running if not job.is_over)
    found = list(running)
    for job in jobs:
        hosts = [node for node in cluster.nodes if _refusal(job, node) is None]
        gpus = sum(one.count * one.task.gpus for one in job.replicas)
        free = [node for node in hosts if gpus <= free_gpus(node, found)]
        if not free:
            raise PlacementError(_no_node(job, cluster.nodes))
        node = min(free, key=lambda one: turns[one.name])
        turns[node.name] += 1
        labels = {one.name: one.labels.get(HOST_LABEL, one.name) for one in hosts}
        planned = PlannedJob(job.name, job.manifest, node=node.name, hosts=labels, gpus=gpus)
        found.append(planned)
    return found[len(running) :]


def free_gpus(node: ClusterNode, jobs: Sequence[PlannedJob]) -> int:
    """Return how many GPUs of a node no job of a plan has."""
    taken = sum(job.gpus for job in jobs if job.node == node.name and not job.is_over)
    return (node.gpus.count if node.gpus else 0) - taken


def migration_rule(policy: PlanPolicy, cluster: Cluster) -> MigrationRule | None:
    """Return the rule of a policy; None for one that moves nothing."""
    nodes = [node.name for node in cluster.nodes]
    if policy == "specon":
        return SpeCon(nodes)
    return RemainingWork(nodes) if policy == "remaining-work" else None


class _Nodes:
    """The nodes for workers, and those for parameter servers."""

    def __init__(self, cluster: Cluster, has_servers: bool) -> None:
        marked = [node for node in cluster.nodes if node.group == SERVER_GROUP]
        if not marked and has_servers and any(node.gpus for node in cluster.nodes):
            marked = [node for node in cluster.nodes if node.gpus is None]
        if not marked and has_servers:
            raise PlacementError(
                "parameter servers have nodes of their own in these plans. State the group "
                f'"{SERVER_GROUP}" for some nodes of the cluster file'
            )
        self.kinds = ([node for node in cluster.nodes if node not in marked], marked)
        self.machines = MachinePool.of(
            RESOURCES, *([_capacity(node) for node in nodes] for nodes in self.kinds)
        )

    def excluded(self, job: ClusterJob, task: Task | None, kind: int) -> frozenset[int]:
        """Return the nodes of a kind that cannot host a pod."""
        if task is None:
            return frozenset()
        nodes = self.kinds[kind]
        refused = {number for number, node in enumerate(nodes) if refusal(task, node, 1.0)}
        if len(refused) == len(nodes):
            raise PlacementError(_no_node(job, nodes))
        return frozenset(refused)

    def planned(self, job: ClusterJob, decision: Decision) -> PlannedJob:
        """Return a decision as a plan has it, with the slots in which the job has no workers."""
        slots = {
            str(one.slot): (self._named(one.workers, 0), self._named(one.servers, 1))
            for one in decision.deployments
        }
        if slots:
            every = map(str, range(decision.job.arrival, decision.end + 1))
            slots = {slot: slots.get(slot, ({}, {})) for slot in every}
        return PlannedJob(
            job.name,
            job.manifest,
            "waiting" if decision.admitted else "rejected",
            decision.reason,
            decision.utility,
            decision.cost,
            slots,
        )

    def occupy(self, oasis: Oasis, job: PlannedJob, first: int) -> None:
        """Take note of what a job of the plan has from a slot on."""
        pods = ClusterJob(job.name, job.manifest)
        last = max(map(int, job.slots))
        for slot in range(first, min(oasis.horizon, max(first, last) + 1)):
            sizes = job.slots[str(min(slot, last))]
            oasis.occupy(
                slot,
                self._used(sizes[0], pods.worker, 0),
                self._used(sizes[1], pods.task("PS"), 1),
            )

    def _used(self, counts: dict[str, int], task: Task | None, kind: int) -> Floats:
        names = [node.name for node in self.kinds[kind]]
        missing = counts.keys() - set(names)
        if missing:
            raise PlacementError(
                f"the plan uses the node {min(missing)}, which the cluster file does not have"
            )
        used = np.array([counts.get(name, 0) for name in names], dtype=float)
        return np.outer(used, (0.0,) * len(RESOURCES) if task is None else _demand(task))

    def _named(self, counts: t.Any, kind: int) -> dict[str, int]:
        return {
            node.name: int(count)
            for node, count in zip(self.kinds[kind], counts, strict=True)
            if count
        }


def _training(job: ClusterJob, nodes: _Nodes, slot_s: float, first: int) -> ElasticJob:
    elastic, worker, server = job.elastic, job.worker, job.task("PS")
    if job.manifest["kind"] not in SPECS or worker is None:
        raise PlacementError(
            f"{job.name} has no workers whose number can change: {', '.join(sorted(SPECS))} with "
            "at least one worker have"
        )
    if not any(_demand(worker)):
        raise PlacementError(f"the workers of {job.name} request no gpu, cpu or memory")
    return ElasticJob(
        job.name,
        first,
        elastic.epochs,
        elastic.chunks,
        elastic.batches,
        elastic.batch_s / slot_s,
        _demand(worker),
        (0.0,) * len(RESOURCES) if server is None else _demand(server),
        0.0 if server is None else elastic.workers_per_server,
        Sigmoid(
            elastic.priority,
            elastic.decay_per_h * slot_s / 3600,
            elastic.target_h * 3600 / slot_s,
        ),
        (nodes.excluded(job, worker, 0), nodes.excluded(job, server, 1)),
    )


def _capacity(node: ClusterNode) -> tuple[float, ...]:
    return float(node.gpus.count if node.gpus else 0), node.cpu, node.memory_bytes / _GIB


def _demand(task: Task) -> tuple[float, ...]:
    return float(task.gpus), task.cpu, task.memory_bytes / _GIB


def _refusal(job: ClusterJob, node: ClusterNode) -> str | None:
    """Return why a node, be it empty, cannot host all pods of a job; None if it can."""
    for one in job.replicas:
        reason = refusal(one.task, node, 1.0)
        if reason is not None:
            return reason
    used = sum(
        (one.count * np.array(_demand(one.task)) for one in job.replicas),
        np.zeros(len(RESOURCES)),
    )
    too_much = [
        name for name, need, has in zip(RESOURCES, used, _capacity(node), strict=True) if need > has
    ]
    return f"has less {too_much[0]} than all its pods request" if too_much else None


def _no_node(job: ClusterJob, nodes: Sequence[ClusterNode]) -> str:
    reasons = [f"{node.name} {_refusal(job, node) or 'has no free GPUs'}" for node in nodes[:3]]
    return f"no node can host {job.name}: {'; '.join(reasons) or 'there is none'}"


def _jobs_of(
    workflow: Workflow, steps: Sequence[Step], path: tuple[str, ...]
) -> Iterator[ClusterJob]:
    """Yield the jobs of steps that need nothing of the run."""
    for step in steps:
        job = step.action
        if isinstance(job, Group):
            inner = list(_jobs_of(workflow, job.steps, (*path, step.name)))
            if inner:
                _check_plain(workflow, step, (*path, step.name))
            yield from inner
        elif isinstance(job, Job) and job.action in ("create", "apply"):
            kind, version = job.manifest.get("kind"), job.manifest.get("apiVersion")
            if kind != "ConfigMap" and PLURALS.get(str(kind), ("",))[0] == version:
                _check_plain(workflow, step, (*path, step.name))
                yield ClusterJob(_name(workflow.name, *path, step.name), dict(job.manifest))


def _check_plain(workflow: Workflow, step: Step, path: tuple[str, ...]) -> None:
    where = f'the step "{"/".join(path)}" of {workflow.name}'
    job = step.action
    reads = isinstance(job, Job) and (bool(job.values) or job.manifest_from is not None)
    if reads or step.when or step.foreach or step.loop:
        raise PlacementError(
            f"{where} is known only when the workflow runs. Jobs that are planned read no values, "
            "and are in no condition, foreach or loop"
        )
    if predecessors(step):
        raise PlacementError(
            f"{where} waits for other steps. Jobs that are planned start by themselves"
        )


def _name(*parts: str) -> str:
    """Return a name of an object for a step."""
    whole = "-".join(parts)
    name = re.sub("[^a-z0-9]+", "-", whole.lower()).strip("-")
    name = name if name[:1].isalpha() else f"job-{name}"
    if len(name) <= _LONGEST_NAME:
        return name
    return (
        f"{name[: _LONGEST_NAME - 9].rstrip('-')}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    )
