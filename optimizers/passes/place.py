"""The pass `place`: which machines of a cluster each step runs on, written into its placement."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from dataclasses import dataclass, replace

from couler.cluster.model import Cluster
from couler.errors import ConfigurationError, InvalidWorkflowError, UnplaceableError
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import all_steps, scopes
from couler.ir.wording import few_text
from couler.ir.workflow import Suspend, Workflow
from couler.optimizers.base import PassContext, defaults_of
from couler.optimizers.figure_texts import seconds_text, usd_text
from couler.optimizers.placement.cluster_doubts import doubts_of
from couler.optimizers.placement.learning import Learned, learn_speeds, scaled_speeds, speeds_of
from couler.optimizers.placement.plan_figures import (
    counted_in_part,
    machine_cost,
    planned_times,
    tell_guesses,
    tell_learned,
    tell_scaled,
)
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.selecting import Selectors
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategy import PlacementStrategy, Rules, read_strategy
from couler.optimizers.placement.workload import Workload, workload_of
from couler.optimizers.placement.writing import Bind, PlacementWriter

_RULES = Rules(dispatch="tasks", sharing="requests", window_s=0.0, poll_s=0.0, memory_margin=1.0)
"""As Kubernetes starts pods: each when it can, as many on a machine as fit by their requests."""


@dataclass(frozen=True)
class Place:
    """Choose machines for steps, and say so in their placement.

    Before: any verified workflow, and the description of a cluster (`cluster.yaml`). After: each
    step that runs in a pod has a node selector, or where one label is not enough an affinity, for
    the machines that were chosen for it; the tolerations that it needs there; and a request for a
    GPU where one makes it faster. Left as they are, with a reason, are steps whose affinity
    requires machines or other pods, those that ask for what clusters do not tell of, and those
    whose retries would find no other machine; and so are steps that run in no pod of theirs, but
    all take their time.

    Preserved: outcomes, and keys of the cache. A step that no machine can run is an error here,
    before anything is submitted.

    How long it takes is what the strategy takes, beside O(n + m) for n steps with m links and O(k)
    for k labels of all machines.

    Attributes
    ----------
    strategy
        What chooses, such as `upward-rank`, `sjf-groups`, `kubernetes` or
        `"upward-rank{objective=cost}"`; see `couler.optimizers.placement.strategy`.
    bind
        `group`: a step may run on any machine of the group of the one that was chosen, and prefers
        that one, so that it need not wait for it where others are free. `node`: it runs on that
        machine alone. Machines without a group that are alike are taken for one
        (`couler.optimizers.placement.writing`).
    group_label
        The label by which the machines themselves tell their group, where `cluster.yaml` does not
        state it among their labels.
    gpu_models
        Kinds of models that use a GPU: a step of one that requests none gets one if some machine
        with GPUs is faster for it than all without.
    tolerate
        Keys of taints that steps may be made to tolerate; those of GPUs are, for steps that use
        some.
    urgent_class
        The name of a priority class for the pods of steps without which all would end later, so
        that Kubernetes gives them room first; none if it is empty.
    learn
        Whether speeds that earlier runs have shown go before those that `cluster.yaml` states.
    least
        In so many measurements a speed must have shown, at least 1.

    Examples
    --------
    >>> from couler.ir.policies import Profile
    >>> from couler.ir.workflow import Container, Step
    >>> from couler.cluster.model import ClusterNode, Gpus, Speed
    >>> gib = 2**30
    >>> cluster = Cluster(
    ...     (ClusterNode("c1", 8, 32 * gib, "cpu", labels={"group": "cpu"}),
    ...      ClusterNode("g1", 8, 64 * gib, "gpu", gpus=Gpus("a100", 2), labels={"group": "gpu"})),
    ...     speeds=(Speed(1e10), Speed(1e12, "gpu", "dense-network")))
    >>> def step(name, *after, **profile):
    ...     return Step(name=name, action=Container(image="busybox"), depends_on=after,
    ...                 profile=Profile(**profile))
    >>> steps = (step("load", seconds=20), step("fit", "load", operations=1e13,
    ...                                        model="dense-network", task="training"))
    >>> context = PassContext(cluster=lambda: cluster)
    >>> placed = Place().run(Workflow(name="w", steps=steps), context)
    >>> dict(placed.steps[1].placement.node_selector), placed.steps[1].resources.gpu.count
    ({'group': 'gpu'}, 1)
    """

    name: t.ClassVar[str] = "place"

    strategy: str = "upward-rank"
    bind: Bind = "group"
    group_label: str = ""
    gpu_models: tuple[str, ...] = ("dense-network", "convolutional-network")
    tolerate: tuple[str, ...] = ()
    urgent_class: str = ""
    learn: bool = True
    least: int = 1

    def __post_init__(self) -> None:
        """Refuse a strategy that there is not.

        Raises
        ------
        EngineOptionError
            The text names no strategy, or gives it wrong options.
        ValueError
            `least` is less than 1, or the strategy has a margin of memory, which steps have not.
        """
        strategy: t.Any = read_strategy(self.strategy)
        margin = getattr(strategy, "memory_margin", 1.0)
        if margin != 1.0 and "memory_margin" not in defaults_of(strategy):
            raise ValueError("memory_margin does nothing here: steps say what memory they need")
        if self.least < 1:
            raise ValueError(f"least is at least 1, not {self.least}")

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with a placement for each step that runs in a pod.

        Raises
        ------
        ConfigurationError
            No cluster is described.
        InvalidWorkflowError
            No machine can run some steps, or nothing tells the machines of some from others.
        PlacementError
            A speed is missing or wrong.
        """
        if context.cluster is None:
            raise ConfigurationError(
                "the pass place chooses among the machines of a cluster, and none is described. "
                "Write cluster.yaml (`couler cluster import` does), or name its file by --cluster"
            )
        selectors = Selectors(context.cluster, self.group_label)
        cluster = selectors.labelled(context.cluster)
        learned = self._learned(workflow, cluster, context)
        done = frozenset(() if context.kept is None else context.kept(workflow))
        chosen = self._chosen(workflow, context, selectors, cluster, learned, done)
        if chosen is None:
            return workflow
        workload, writer = chosen.workload, chosen.writer
        if not writer.has_order:
            context.explain("No step states a priority, as the engine has none.")
        if self.gpu_models and not chosen.gives_gpus:
            context.explain("No step is given a GPU, as the engine would refuse it.")
        for path, reason in writer.reasons.items():
            context.explain(reason, step=path)
        context.explain(writer.summary(self.strategy))
        context.explain(_end(chosen.report, cluster))
        if _has_pauses(workflow):
            context.explain("Pauses are left out of these times.")
        in_part = {
            path: why for path, why in counted_in_part(workflow).items() if path in writer.reasons
        }
        for path, why in in_part.items():
            context.explain(why, step=path)
        tell_guesses(context, workload)
        context.cost = machine_cost(workload, chosen.report, cluster, in_part)
        context.times = planned_times(workload, chosen.report, cluster.pod_start_s)
        if done:
            rest = (
                "step keeps its end and is" if len(done) == 1 else "steps keep their ends and are"
            )
            context.explain(f"{len(done):,} {rest} not placed.")
        for told in doubts_of(cluster, _models(workflow)):
            context.explain(told)
        if learned:
            tell_learned(context, workload, learned)
            tell_scaled(context, workload, scaled_speeds(cluster, learned))
        return chosen.workflow

    def _chosen(
        self,
        workflow: Workflow,
        context: PassContext,
        selectors: Selectors,
        cluster: Cluster,
        learned: Learned,
        done: Collection[str],
    ) -> _Chosen | None:
        """Return what is chosen, with GPUs for steps that request none, or without if need be."""
        strategy = _without_margin(read_strategy(self.strategy))
        _check_prices(strategy, cluster)
        before = _refused(workflow, context)
        for gpu_models in (self.gpu_models, ()):
            workload = workload_of(
                workflow,
                cluster=cluster,
                gpu_models=gpu_models,
                tolerate=self.tolerate,
                learned=learned,
                done=done,
            )
            if not workload.pipeline.tasks:
                return None
            report = _plan(workload, cluster, strategy, speeds_of(cluster, learned))
            writer = PlacementWriter(
                cluster,
                selectors,
                workload,
                report,
                bind=self.bind,
                tolerate=self.tolerate,
                urgent_class=self.urgent_class,
            )
            made = writer.write(workflow)
            if not _refused(made, context) <= before:
                made = writer.write(workflow, with_order=False)
            if not workload.gpu_steps or _refused(made, context) <= before:
                break
        return _Chosen(made, workload, report, writer, bool(gpu_models))

    def _learned(self, workflow: Workflow, cluster: Cluster, context: PassContext) -> Learned:
        """Return what earlier runs tell of what the workflow computes."""
        models = _models(workflow)
        if not self.learn or context.timings is None or not models:
            return {}
        return learn_speeds(
            context.timings(),
            cluster,
            models=models,
            gpu_models=self.gpu_models,
            least=self.least,
        )


class _Chosen(t.NamedTuple):
    """What was chosen, and the workflow with it."""

    workflow: Workflow
    workload: Workload
    report: Report
    writer: PlacementWriter
    gives_gpus: bool


def _end(report: Report, cluster: Cluster) -> str:
    """Return when all ends, and what machines cost until then."""
    told = f"All ends after {seconds_text(report.total_s)} by what is known of the steps"
    cost = report.cost_usd(cluster)
    if cost is not None:
        told += f", for {usd_text(cost)} of machines while they run any of it"
    return f"{told}."


def _has_pauses(workflow: Workflow) -> bool:
    """Return whether there are pauses, which the plan leaves out, before the end."""
    return any(
        isinstance(step.action, Suspend)
        for scope in scopes(workflow)
        if scope.handler is None
        for step in scope.steps
    )


def _models(workflow: Workflow) -> set[str]:
    """Return the kinds of models whose operations steps state."""
    profiles = (step.profile for step in all_steps(workflow) if step.profile is not None)
    return {one.model for one in profiles if one.model and one.operations}


def _without_margin(strategy: PlacementStrategy) -> PlacementStrategy:
    """Return a strategy that takes what tasks need of memory for what it is, and not for data."""
    value: t.Any = strategy
    return replace(value, memory_margin=1.0) if hasattr(value, "memory_margin") else strategy


def _check_prices(strategy: PlacementStrategy, cluster: Cluster) -> None:
    if getattr(strategy, "objective", None) != "cost":
        return
    missing = [node.name for node in cluster.nodes if node.price_usd_per_h is None]
    if missing:
        raise ConfigurationError(
            f"the cost is to be least, and prices of machines are not known: {few_text(missing)}. "
            "State price_usd_per_h in cluster.yaml, or choose another objective"
        )


def _plan(
    workload: Workload, cluster: Cluster, strategy: PlacementStrategy, speeds: Speeds
) -> Report:
    try:
        return simulate([workload.pipeline], cluster, strategy, speeds, _RULES)
    except UnplaceableError as error:
        reasons: dict[tuple[str, str], str] = {}
        for one in error.tasks:
            task, type_ = workload.replica_of.get(one.task, (one.task, ""))
            if task in workload.step_of:
                which = workload.step_of[task], type_
                reasons.setdefault(which, str(one).partition(": ")[2])
        raise InvalidWorkflowError(
            "no machine can run these steps",
            [
                Diagnostic(
                    "CLR550",
                    f"no machine of the cluster can run {_pod(path, type_)}: {reason}. Add one "
                    "that can, or change what it asks for",
                    step=path,
                    source=workload.steps[path].source,
                )
                for (path, type_), reason in reasons.items()
            ],
        ) from error


def _pod(path: str, type_: str) -> str:
    return f'one pod of the {type_} of step "{path}"' if type_ else f'step "{path}"'


def _refused(workflow: Workflow, context: PassContext) -> set[tuple[str, str | None]]:
    """Return what an engine refuses, by code and step; nothing without an engine."""
    if context.refusals is None:
        return set()
    return {(one.code, one.step) for one in context.refusals(workflow)}
