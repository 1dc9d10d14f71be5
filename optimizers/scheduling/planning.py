"""Plans for the training jobs of workflows: made by a policy, and carried out on a cluster."""

from __future__ import annotations

import itertools
import time
import typing as t
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from couler.cluster.controller import Controller, PlannedJob, PlanStore, TrainingPlan
from couler.cluster.elastic import Elastic
from couler.cluster.model import Cluster, ClusterNode
from couler.cluster.objects import PLURALS, SPECS, ClusterObjects
from couler.errors import ConfigurationError, PlacementError
from couler.ir.walk import predecessors, steps_by_path
from couler.ir.workflow import Job, Workflow
from couler.optimizers.placement.job_pods import Replicas, pods_of_job
from couler.optimizers.placement.problem import Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.scheduling.migration import (
    JobProgress,
    MigrationRule,
    RemainingWork,
    SpeCon,
)
from couler.optimizers.scheduling.oasis import Decision, Oasis
from couler.optimizers.scheduling.prices import ResourcePrices, calibrated_prices, paper_prices
from couler.optimizers.scheduling.training import ElasticJob, Servers, Sigmoid

RESOURCES = ("gpu", "cpu", "memory_gib")
_GIB = 2**30

SERVER_GROUP = "servers"
"""Nodes of this group host parameter servers and no workers."""

PriceKind: t.TypeAlias = t.Literal["calibrated", "paper"]


PlanPolicy: t.TypeAlias = t.Literal["oasis", "specon", "remaining-work"]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to plan: the policy, the slots of OASiS, its prices, and the interval of moves."""

    policy: PlanPolicy
    slot_s: float
    slots: int
    prices: PriceKind
    interval_s: float

    @property
    def tick_s(self) -> float:
        """How often something can change."""
        return self.slot_s if self.policy == "oasis" else self.interval_s


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A job that a workflow creates.

    Attributes
    ----------
    name
        Name of its object: that of the workflow and the step.
    manifest
        The object.
    elastic
        Its work and value, if it states them.
    replicas
        Its pods.
    """

    name: str
    manifest: dict[str, t.Any]
    elastic: Elastic | None
    replicas: tuple[Replicas, ...]

    def task(self, *types: str) -> Task | None:
        """Return what a pod of one of some types requires; None if it has none."""
        return next((one.task for one in self.replicas if one.type in types), None)


@dataclass(frozen=True, slots=True)
class ElasticPlan:
    """What OASiS has decided.

    Attributes
    ----------
    jobs
        The jobs with their slots, in the order in which they were offered.
    decisions
        Of the same jobs.
    prices
        Price of each resource by slot, averaged over the nodes for workers, after the last job.
    """

    jobs: tuple[PlannedJob, ...]
    decisions: tuple[Decision, ...]
    prices: tuple[dict[str, float], ...]


def training_jobs(workflows: Sequence[Workflow]) -> list[ClusterJob]:
    """Return the jobs that workflows create.

    Raises
    ------
    PlacementError
        A workflow creates none, or one that cannot be planned, or two have one name.
    """
    found: list[ClusterJob] = []
    for workflow in workflows:
        jobs = list(_jobs_of(workflow))
        if not jobs:
            raise PlacementError(
                f"the workflow {workflow.name} has no training job. A plan is of PyTorchJob, "
                "TFJob, MPIJob and Job, as pytorch.train and couler.run_job create them"
            )
        found += jobs
    names = [job.name for job in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlacementError(f"two jobs are called {twice}: name the workflows differently")
    return found


def plan_sizes(
    jobs: Sequence[ClusterJob],
    cluster: Cluster,
    options: PlanOptions,
    *,
    running: Sequence[PlannedJob] = (),
    first: int = 0,
) -> ElasticPlan:
    """Offer jobs to OASiS, in their order.

    Parameters
    ----------
    jobs
        The jobs, all of which arrive now.
    cluster
        The machines.
    options
        The slots, and how prices are set: by these jobs.
    running
        Jobs of the same plan that were admitted before, which keep what they have.
    first
        Number of the slot that is now.

    Raises
    ------
    PlacementError
        A job does not state its work, cannot change its size, or no node can host its pods.
    """
    nodes = _Nodes(cluster, any(job.task("PS") for job in jobs))
    training = [_training(job, nodes, options.slot_s, first) for job in jobs]
    horizon = first + options.slots
    made: ResourcePrices = (
        paper_prices(training, nodes.servers, horizon)
        if options.prices == "paper"
        else calibrated_prices(training, nodes.servers, options.slots)
    )
    oasis = Oasis(nodes.servers, horizon, made)
    for job in running:
        nodes.load(oasis, job)
    found = [(job, oasis.offer(one)) for job, one in zip(jobs, training, strict=True)]
    worker_prices = made.workers(oasis.worker_load, nodes.servers.workers).mean(axis=1)
    return ElasticPlan(
        tuple(nodes.planned(job, decision) for job, decision in found),
        tuple(decision for _, decision in found),
        tuple(dict(zip(RESOURCES, map(float, row), strict=True)) for row in worker_prices[first:]),
    )


def plan_nodes(jobs: Sequence[ClusterJob], cluster: Cluster) -> tuple[PlannedJob, ...]:
    """Give each job a node, in turn among those that can host all of its pods.

    Raises
    ------
    PlacementError
        No node can host a job.
    """
    turns = Counter(dict.fromkeys((node.name for node in cluster.nodes), 0))
    found = []
    for job in jobs:
        able = [
            node.name
            for node in cluster.nodes
            if not any(refusal(one.task, node, 1.0) for one in job.replicas)
        ]
        if not able:
            raise PlacementError(_no_node(job, job.replicas[0].task, cluster.nodes))
        node = min(able, key=lambda name: turns[name])
        turns[node] += 1
        found.append(PlannedJob(job.name, job.manifest, node=node))
    return tuple(found)


def apply_plan(
    jobs: Sequence[ClusterJob],
    cluster: Cluster,
    options: PlanOptions,
    objects: ClusterObjects,
    name: str,
    say: Callable[[str], object],
) -> TrainingPlan:
    """Plan the jobs that are not in the plan of a name yet, carry it out, and return it.

    Raises
    ------
    ConfigurationError
        A plan of that name is under way with another policy.
    EngineError
        The cluster refuses, or has an object of the name of a job.
    """
    plan = PlanStore(objects, name).load()
    now = time.time()
    if plan is None:
        plan = TrainingPlan(name, options.policy, now, options.tick_s, [])
    elif (plan.policy, plan.slot_s) != (options.policy, options.tick_s):
        raise ConfigurationError(
            f"the plan {name} is under way with the policy {plan.policy} and slots of "
            f"{plan.slot_s:g} s. Give the same, or another --name"
        )
    else:
        say(f"going on with the plan {name}, in its slot {plan.slot(now)}")
    known = {job.name for job in plan.jobs}
    new = [job for job in jobs if job.name not in known]
    if options.policy != "oasis":
        plan.jobs += plan_nodes(new, cluster)
    elif new:
        plan.jobs += plan_sizes(new, cluster, options, running=plan.jobs, first=plan.slot(now)).jobs
    for job in plan.jobs:
        if job.state == "rejected":
            say(f"{job.name} is not admitted: {job.reason}")
    controller = Controller(objects, plan, say=say, clock=time.time, sleep=time.sleep)
    rule = _rule(options, [node.name for node in cluster.nodes])
    controller.run((lambda: _move(controller, rule)) if rule else (lambda: None))
    return plan


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
        self.servers = Servers.of(
            RESOURCES, *([_capacity(node) for node in nodes] for nodes in self.kinds)
        )

    def without(self, job: ClusterJob, task: Task | None, kind: int) -> frozenset[int]:
        """Return the nodes of a kind that cannot host a pod."""
        if task is None:
            return frozenset()
        nodes = self.kinds[kind]
        refused = {number for number, node in enumerate(nodes) if refusal(task, node, 1.0)}
        if len(refused) == len(nodes):
            raise PlacementError(_no_node(job, task, nodes))
        return frozenset(refused)

    def planned(self, job: ClusterJob, decision: Decision) -> PlannedJob:
        """Return a decision as a plan has it."""
        slots = {
            str(one.slot): (self._named(one.workers, 0), self._named(one.servers, 1))
            for one in decision.deployments
        }
        if slots:
            begin, end = decision.job.arrival, decision.end
            slots = {f"{slot}": slots.get(f"{slot}", ({}, {})) for slot in range(begin, end + 1)}
        return PlannedJob(
            job.name,
            job.manifest,
            "waiting" if decision.admitted else "rejected",
            decision.reason,
            slots,
        )

    def load(self, oasis: Oasis, job: PlannedJob) -> None:
        """Occupy what a job of an earlier plan has."""
        pods = {one.type: one.task for one in _replicas(job.manifest)}
        for slot, sizes in job.slots.items():
            if int(slot) < oasis.horizon and not job.is_over:
                for kind, counts, load in zip(
                    ("Worker", "PS"), sizes, (oasis.worker_load, oasis.server_load), strict=True
                ):
                    names = [node.name for node in self.kinds[kind == "PS"]]
                    for name, count in counts.items():
                        if name in names:
                            load[int(slot), names.index(name)] += count * np.array(
                                _demand(pods[kind])
                            )

    def _named(self, counts: t.Any, kind: int) -> dict[str, int]:
        return {
            node.name: int(count)
            for node, count in zip(self.kinds[kind], counts, strict=True)
            if count
        }


def _training(job: ClusterJob, nodes: _Nodes, slot_s: float, first: int) -> ElasticJob:
    elastic, worker = job.elastic, job.task("Worker")
    if elastic is None:
        raise PlacementError(
            f"{job.name} does not state its work. Give it elastic=couler.Elastic()"
        )
    if job.manifest["kind"] not in SPECS or worker is None:
        raise PlacementError(
            f"{job.name} has no workers whose number can change: {', '.join(sorted(SPECS))} with "
            "at least one worker have"
        )
    if not any(_demand(worker)):
        raise PlacementError(f"the workers of {job.name} request no gpu, cpu or memory")
    server = job.task("PS")
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
        (nodes.without(job, worker, 0), nodes.without(job, server, 1)),
    )


def _capacity(node: ClusterNode) -> tuple[float, ...]:
    return float(node.gpus.count if node.gpus else 0), node.cpu, node.memory_bytes / _GIB


def _demand(task: Task) -> tuple[float, ...]:
    return float(task.gpus), task.cpu, task.memory_bytes / _GIB


def _replicas(manifest: dict[str, t.Any]) -> tuple[Replicas, ...]:
    return pods_of_job(Job(manifest=manifest)).replicas


def _no_node(job: ClusterJob, task: Task, nodes: Sequence[ClusterNode]) -> str:
    told = "; ".join(
        f"{node.name} {refusal(task, node, 1.0)}" for node in itertools.islice(nodes, 3)
    )
    return f"no node can host a {task.name} of {job.name}: {told or 'there is none'}"


def _jobs_of(workflow: Workflow) -> Iterator[ClusterJob]:
    """Yield the jobs that a workflow creates, which must be known before it runs."""
    for path, step in steps_by_path(workflow):
        job = step.action
        if not isinstance(job, Job) or job.action not in ("create", "apply"):
            continue
        where = f'the step "{path}" of {workflow.name}'
        kind = str(job.manifest.get("kind"))
        if kind not in PLURALS or kind == "ConfigMap":
            continue
        if job.values or job.manifest_from or step.when or step.foreach or step.loop:
            raise PlacementError(
                f"{where}: its {kind} is known only when the workflow runs. Jobs that are planned "
                "read no values and have no condition, foreach or loop"
            )
        if predecessors(step):
            raise PlacementError(
                f"{where} waits for other steps. Jobs that are planned begin by themselves"
            )
        try:
            elastic = Elastic.of(job.manifest)
        except ValueError as error:
            raise PlacementError(f"{where}: {error}") from error
        name = f"{workflow.name}-{path}".replace("/", "-").replace("_", "-").lower()[:63]
        yield ClusterJob(name, dict(job.manifest), elastic, pods_of_job(job).replicas)


def _move(controller: Controller, rule: MigrationRule) -> None:
    """Let a rule decide, by what the jobs have reported, and move what it says."""
    found = [
        JobProgress(
            job.name, job.node or "", progress.get("loss"), progress.get("done"), progress["used_s"]
        )
        for job, progress in controller.running()
        if progress
    ]
    for one in rule.decide(time.time(), found):
        controller.move(one.job, one.target)


def _rule(options: PlanOptions, nodes: Sequence[str]) -> MigrationRule | None:
    if options.policy == "specon":
        return SpeCon(nodes)
    return RemainingWork(nodes) if options.policy == "remaining-work" else None
