"""Whole workflows: a minimal one for each feature that no single step has."""

from __future__ import annotations

import typing as t

from couler.ir.base import FrozenDict
from couler.ir.features import Feature
from couler.ir.pods import (
    ContainerSettings,
    DisruptionBudget,
    ExecutorPlugin,
    PodCleanup,
    PodContainer,
    Port,
    RunLabel,
    RunSettings,
)
from couler.ir.policies import Counter, Gauge, Histogram, MetricLabel
from couler.ir.values import Literal, OrElse, OwnRef, ParamRef
from couler.ir.workflow import (
    ExitHandler,
    Hook,
    Output,
    Parameter,
    Schedule,
    StoredWorkflow,
    Workflow,
)
from tests.support.sample_flows import A, echo, flow, one_step, own_fact


def _runs(**fields: t.Any) -> Workflow:
    return flow(echo("a"), runs=RunSettings(**fields))


PLUGIN = ExecutorPlugin(
    name="hello",
    container=PodContainer(
        name="hello",
        image="example.org/hello:1",
        settings=ContainerSettings(ports=(Port(number=4355),)),
    ),
)

WHOLE: dict[Feature, Workflow] = {
    Feature.STORED_WORKFLOW: Workflow(
        name="sample",
        stored=StoredWorkflow(name="stored"),
        parameters=(Parameter(name="text", default="x"),),
    ),
    Feature.EXIT_HANDLER: flow(
        echo("a"), exit_handlers=(ExitHandler(name="tell", on="any", steps=(echo("b"),)),)
    ),
    Feature.EXIT_HANDLER_READS_OUTPUT: flow(
        echo("a"),
        exit_handlers=(
            ExitHandler(
                name="tell",
                on="any",
                steps=(echo("b", OrElse(value=A, default=Literal(value="none"))),),
            ),
        ),
    ),
    Feature.SCHEDULE: flow(echo("a"), schedule=Schedule(cron=("0 4 * * *",))),
    Feature.SCHEDULE_SEVERAL: flow(echo("a"), schedule=Schedule(cron=("0 4 * * *", "0 16 * * *"))),
    Feature.SCHEDULE_GAP: flow(echo("a"), schedule=Schedule(cron=("* * * * *",), min_gap_s=600)),
    Feature.SCHEDULE_STOP: flow(
        echo("a"),
        schedule=Schedule(cron=("0 4 * * *",), stop_after_succeeded=7, stop_after_failed=3),
    ),
    Feature.SUSPENDED: flow(echo("a"), suspended=True),
    Feature.METRIC: flow(
        echo("a"),
        echo(
            "b",
            outputs=(Output(name="n", type="int", path="n.txt"),),
            metrics=(
                Counter(
                    name="failures",
                    help="Failed steps.",
                    value=Literal(value=1),
                    labels=(
                        MetricLabel(name="model", value=A),
                        MetricLabel(name="state", value=OwnRef(fact="status")),
                    ),
                    when=own_fact("==", "failed"),
                ),
                Gauge(
                    name="rows",
                    help="Rows.",
                    value=OwnRef(fact="output", name="n"),
                    operation="add",
                    when=own_fact("==", 0, "exit_code"),
                ),
                Histogram(
                    name="seconds",
                    help="Seconds of a step.",
                    value=OwnRef(fact="duration_s"),
                    buckets=(1.0, 10.5),
                ),
            ),
        ),
    ),
    Feature.METRIC_REALTIME: one_step(
        metrics=(
            Gauge(name="so_far", help="So far.", value=OwnRef(fact="duration_s"), realtime=True),
        )
    ),
    Feature.WORKFLOW_METRIC: flow(
        echo("a"),
        parameters=(Parameter(name="p", default="x"),),
        metrics=(
            Gauge(
                name="took",
                help="Seconds of a run.",
                value=OwnRef(fact="duration_s"),
                labels=(
                    MetricLabel(name="p", value=ParamRef(name="p")),
                    MetricLabel(name="state", value=OwnRef(fact="status")),
                ),
                when=own_fact("==", "succeeded"),
            ),
        ),
    ),
    Feature.HOOK: flow(
        echo(
            "a",
            hooks=(Hook(when=own_fact("==", "running"), step=echo("tell", ParamRef(name="p"))),),
        ),
        parameters=(Parameter(name="p", default="x"),),
    ),
    Feature.WORKFLOW_HOOK: flow(
        echo("a"),
        hooks=(
            Hook(when=own_fact("==", "failed"), step=echo("tell")),
            Hook(when=own_fact("!=", "pending"), step=echo("exit")),
        ),
    ),
    Feature.WORKFLOW_TIMEOUT: flow(echo("a"), timeout_s=3600),
    Feature.KEEP: flow(echo("a"), keep_s=3600),
    Feature.RUN_PRIORITY: _runs(priority=5),
    Feature.RUN_LABELS: _runs(labels=(RunLabel(name="team", value="ml"),)),
    Feature.DISRUPTION_BUDGET: _runs(disruption_budget=DisruptionBudget(min_available="50%")),
    Feature.POD_CLEANUP: _runs(pod_cleanup=PodCleanup(when="pod_success")),
    Feature.CLAIM_CLEANUP: _runs(claim_cleanup="run_completion"),
    Feature.EXECUTOR_PLUGIN: _runs(plugins=(PLUGIN,)),
    Feature.LABELS: flow(echo("a"), labels=FrozenDict(team="ml")),
    Feature.ENGINE_OVERRIDES: one_step(
        engine=FrozenDict(argo=FrozenDict(template=FrozenDict(hostAliases=())))
    ),
}
