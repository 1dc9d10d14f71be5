"""The pass `place`: which machines of a cluster each step runs on, written into its placement."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from couler.cluster.model import Cluster
from couler.errors import ConfigurationError, InvalidWorkflowError, UnplaceableError
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.placement.registry import read_strategy
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.requirements import MEMORY_MARGIN
from couler.optimizers.placement.selecting import Selectors
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.strategy import PlacementStrategy, Rules
from couler.optimizers.placement.workload import Workload, speeds_of, workload_of
from couler.optimizers.placement.writing import Bind, PlacementWriter

_RULES = Rules(dispatch="tasks", sharing="requests", window_s=0.0, poll_s=0.0)
"""As Kubernetes starts pods: each when it can, as many on a machine as fit by their requests."""

_MOST_COMPARED = 500
"""Up to so many tasks it is told what Kubernetes would do, which looks at all nodes for each."""


@dataclass(frozen=True)
class Place:
    """Choose machines for steps, and say so in their placement.

    Before: any verified workflow, and the description of a cluster (`cluster.yaml`). After: each
    step that runs in a pod has a node selector, or where one label is not enough an affinity, for
    the machines that were chosen for it; the tolerations that it needs there; and a request for a
    GPU where it can use one and has it. A step with an affinity of its own is left as it is, and so
    are steps that run in no pod of theirs, but they take their time.

    Preserved: outcomes, and keys of the cache. A step that no machine can run is an error here,
    before anything is submitted.

    How long it takes is what the strategy takes, beside O(n + m) for n steps with m links and O(k)
    for k labels of all machines.

    Attributes
    ----------
    strategy
        What chooses, such as `upward-rank`, `sjf-groups`, `kubernetes` or
        `"upward-rank{objective=cost}"`; see `couler.optimizers.placement.registry`.
    bind
        `group`: a step may run on any machine of the group of the one that was chosen, and prefers
        that one, so that it need not wait for it where others are free. `node`: it runs on that
        machine alone. A machine without a group is bound to by itself.
    group_label
        The label by which the machines themselves tell their group, where `cluster.yaml` does not
        state it among their labels.
    gpu_models
        Kinds of models that use a GPU where there is one: their steps request one if the machines
        that they may run on have some and they request none themselves.
    tolerate
        Keys of taints that steps may be made to tolerate; those of GPUs are, for steps that use
        some.
    urgent_class
        The name of a priority class for the pods of steps without which all would end later, so
        that Kubernetes gives them room first; none if it is empty.

    Examples
    --------
    >>> from couler.ir.policies import Profile
    >>> from couler.cluster.model import Gpus, Speed
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
    >>> context = PassContext(cluster=cluster)
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

    def __post_init__(self) -> None:
        """Refuse a strategy that there is not.

        Raises
        ------
        EngineOptionError
            The text names no strategy, or gives it wrong options.
        """
        read_strategy(self.strategy)

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
        cluster = replace(
            context.cluster,
            nodes=tuple(
                replace(node, labels=selectors.labels_of(node.name))
                for node in context.cluster.nodes
            ),
        )
        strategy = read_strategy(self.strategy)
        workload = workload_of(
            workflow,
            cluster=cluster,
            margin=float(getattr(strategy, "memory_margin", MEMORY_MARGIN)),
            gpu_models=self.gpu_models,
            tolerate=self.tolerate,
        )
        if not workload.pipeline.tasks:
            return workflow
        report = _plan(workload, cluster, strategy)
        writer = PlacementWriter(
            cluster,
            selectors,
            workload,
            report,
            bind=self.bind,
            tolerate=self.tolerate,
            urgent_class=self.urgent_class,
        )
        made = self._written(workflow, writer, context)
        for path, reason in writer.reasons.items():
            context.explain(reason, step=path)
        context.explain(writer.summary(self.strategy))
        context.explain(_compared(workflow, cluster, report))
        return made

    def _written(
        self, workflow: Workflow, writer: PlacementWriter, context: PassContext
    ) -> Workflow:
        """Return the workflow with as much of what was chosen as the engine takes."""
        made = writer.write(workflow, gpu_models=self.gpu_models)
        gave_gpus = writer.gives_gpus
        before = _refused(workflow, context)
        for with_gpus, with_order in ((True, False), (False, True), (False, False)):
            if _refused(made, context) <= before:
                break
            made = writer.write(
                workflow,
                gpu_models=self.gpu_models if with_gpus else (),
                with_order=with_order,
            )
        if not writer.has_order:
            context.explain("No step states a priority, as the engine has none.")
        if gave_gpus and not writer.gives_gpus:
            context.explain("No GPUs are requested, as the engine would refuse them here.")
        return made


def _plan(workload: Workload, cluster: Cluster, strategy: PlacementStrategy) -> Report:
    try:
        return simulate([workload.pipeline], cluster, strategy, speeds_of(cluster), _RULES)
    except UnplaceableError as error:
        reasons: dict[str, str] = {}
        for one in error.tasks:
            path = workload.step_of[one.task]
            reasons.setdefault(path, str(one).partition(": ")[2])
        raise InvalidWorkflowError(
            "no machine can run these steps",
            [
                Diagnostic(
                    "CLR550",
                    f"no machine of the cluster can run it: {reason}. Add one that can, or change "
                    "what it asks for",
                    step=path,
                    source=workload.steps[path].source,
                )
                for path, reason in reasons.items()
            ],
        ) from error


def _refused(workflow: Workflow, context: PassContext) -> set[tuple[str, str | None]]:
    """Return what an engine refuses, by code and step; nothing without an engine."""
    if context.refusals is None:
        return set()
    return {(one.code, one.step) for one in context.refusals(workflow)}


def _compared(workflow: Workflow, cluster: Cluster, report: Report) -> str:
    """Say how long the whole takes, and how long where Kubernetes chooses and no pass does."""
    told = f"All ends after {_seconds(report.total_s)} by what is known of the steps"
    if len(report.spans) > _MOST_COMPARED:
        return f"{told}."
    strategy = read_strategy("kubernetes")
    usual = workload_of(workflow, cluster=cluster, margin=MEMORY_MARGIN)
    try:
        by_itself = simulate([usual.pipeline], cluster, strategy, speeds_of(cluster), _RULES)
    except UnplaceableError:
        return f"{told}; without the pass, Kubernetes would find no machine for some."
    return f"{told}, and after {_seconds(by_itself.total_s)} as Kubernetes places them by itself."


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"
