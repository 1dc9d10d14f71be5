"""Plans of training jobs carried out on a cluster, until all of its jobs have ended."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable, Sequence

from couler.cluster.controller import Controller, PlanStore, TrainingPlan
from couler.cluster.model import Cluster
from couler.errors import ConfigurationError, EngineError

if t.TYPE_CHECKING:
    from couler.cluster.objects import ClusterObjects
    from couler.optimizers.scheduling.migration import MigrationRule
    from couler.optimizers.scheduling.planning import ClusterJob, PlanOptions


def apply_plan(
    jobs: Sequence[ClusterJob],
    cluster: Cluster,
    options: PlanOptions,
    api: ClusterObjects,
    name: str,
    report: Callable[[str], object],
) -> TrainingPlan:
    """Plan the jobs that are not in the plan of a name yet, carry it out, and return it.

    Raises
    ------
    ConfigurationError
        A plan of that name is under way with another policy.
    EngineError
        The cluster refuses, or has an object of the name of a job.
    """
    from couler.optimizers.scheduling import planning

    store = PlanStore(api, name)
    plan = store.load()
    if plan is None:
        plan = TrainingPlan(name, options.policy, time.time(), options.slot_s, [])
    elif (plan.policy, plan.slot_s) != (options.policy, options.slot_s):
        raise ConfigurationError(
            f"the plan {name} is under way with --policy {plan.policy} and --slot "
            f"{plan.slot_s:g}s. Give the same, or another --name"
        )
    else:
        report(f"continuing the plan {name}, in its slot {plan.slot(time.time())}")
    known = {job.name: job for job in plan.jobs}
    new = [job for job in jobs if job.name not in known]
    for job in jobs:
        if job.name in known and known[job.name].state == "waiting":
            known[job.name].manifest = job.manifest
    for job in new:
        if api.get(job.manifest["kind"], job.name) is not None:
            raise EngineError(
                f"the {job.manifest['kind']} {job.name} exists already. Delete it, or rename the "
                "workflow"
            )
    if options.policy != "oasis":
        plan.jobs += planning.plan_nodes(new, cluster, plan.jobs)
    elif new:
        now = plan.slot(time.time())
        plan.jobs += planning.plan_sizes(new, cluster, options, running=plan.jobs, first=now)[0]
    for planned in plan.jobs:
        if planned.state == "rejected":
            report(f"{planned.name} is not admitted: {planned.reason}")
    controller = Controller(api, store, plan, interval_s=options.interval_s, report=report)
    rule = planning.migration_rule(options.policy, cluster)
    controller.run((lambda: _move(controller, rule, cluster)) if rule else (lambda: None))
    return plan


def _move(controller: Controller, rule: MigrationRule, cluster: Cluster) -> None:
    """Let a rule decide, by what the jobs have reported, and move what can be moved."""
    from couler.optimizers.scheduling.migration import JobProgress
    from couler.optimizers.scheduling.planning import free_gpus

    jobs = {job.name: (job, progress) for job, progress in controller.running()}
    moves = rule.decide(
        time.time(),
        [
            JobProgress(name, job.node or "", found.get("loss"), found.get("done"), job.used_s)
            for name, (job, found) in jobs.items()
        ],
    )
    nodes = {node.name: node for node in cluster.nodes}
    for move in moves:
        job, _ = jobs[move.job]
        if move.target in job.hosts and (
            job.gpus <= free_gpus(nodes[move.target], controller.plan.jobs)
        ):
            controller.move(job, move.target)
