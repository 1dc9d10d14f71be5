"""Writing placement and resources into steps: affinities, machines that are alike, urgency."""

from __future__ import annotations

import math
import typing as t
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from couler.cluster.earlier import INSTANCE_TYPE_LABEL
from couler.cluster.model import Cluster, ClusterNode
from couler.errors import InvalidWorkflowError
from couler.ir.base import freeze_json
from couler.ir.diagnostics import Diagnostic
from couler.ir.pods import PodSettings
from couler.ir.policies import Gpu, Resources
from couler.ir.rewrite import map_scopes
from couler.ir.walk import Scope
from couler.ir.wording import counted
from couler.ir.workflow import Step, Workflow
from couler.optimizers.placement.compiled import size_of
from couler.optimizers.placement.job_pods import JobPods, Replicas
from couler.optimizers.placement.pod_needs import effective_placement, needs_of, runs_in_a_pod
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.requirements import refusal, shape_of
from couler.optimizers.placement.selecting import GROUP_LABEL, Selection, Selectors, tolerations_for
from couler.optimizers.placement.workload import MOST_COPIES_OF_ALL, Workload

Bind: t.TypeAlias = t.Literal["group", "node"]

_Bound: t.TypeAlias = tuple[str, ...]
"""The names of machines, of each group the first: a key of what is the same for all steps there."""


class PlacementWriter:
    """Writes what was chosen into the steps."""

    def __init__(
        self,
        cluster: Cluster,
        selectors: Selectors,
        workload: Workload,
        report: Report,
        *,
        bind: Bind,
        tolerate: Collection[str],
        urgent_class: str,
    ) -> None:
        step_of = workload.step_of
        self._urgent_class = urgent_class
        self._urgencies = urgencies(workload, report)
        self._selectors = selectors
        self._bind = bind
        self._tolerate = frozenset(tolerate)
        self._gpu_steps = workload.gpu_steps
        self._jobs = {path: job_reason(pods, cluster) for path, pods in workload.jobs.items()}
        self._items = workload.items
        self._settings: PodSettings | None = None
        self._members: dict[_Bound, list[ClusterNode]] = {}
        self._selections: dict[frozenset[str], Selection | None] = {}
        self._affinities: dict[object, t.Any] = {}
        self._fitting: dict[object, list[ClusterNode]] = {}
        self._tasks = {
            step_of[task.name]: task for task in workload.pipeline.tasks if task.name in step_of
        }
        self._by_name = {node.name: node for node in cluster.nodes}
        self._peers = peers_of(cluster)
        self._places = tuple(dict.fromkeys(map(str, self._peers.values())))
        self._gpu_keys = {node.gpus.resource for node in cluster.nodes if node.gpus is not None}
        self._chosen: dict[str, list[ClusterNode]] = {}
        for span in report.spans:
            if span.task not in step_of:
                continue
            path = step_of[span.task]
            self._chosen.setdefault(path, []).append(self._by_name[span.node])
        self._why = {step_of[one.task]: one.why for one in report.choices if one.task in step_of}
        self._counts: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        self.has_order = True
        self._indistinct: dict[str, list[tuple[str, Step]]] = {}

    def write(self, workflow: Workflow, *, with_order: bool = True) -> Workflow:
        """Return a workflow with placements."""
        self._settings = workflow.pod
        self.reasons, self.has_order = {}, with_order
        self._counts, self._indistinct = Counter(), {}
        made = map_scopes(workflow, lambda scope: tuple(self._steps(scope)))
        self._refuse()
        return made

    def _steps(self, scope: Scope) -> Iterator[Step]:
        for step in scope.steps:
            path = scope.path_of(step)
            if path in self._jobs:
                self.reasons[path] = self._jobs[path]
            if path not in self._chosen or not runs_in_a_pod(step):
                yield step
                continue
            reason = self._left_out(step, path)
            if reason is None:
                yield self._placed(step, path)
            else:
                self.reasons[path] = f"It is left as it is: {reason}."
                yield step

    def _left_out(self, step: Step, path: str) -> str | None:
        """Return why a step is bound to nothing; None if it is."""
        affinity = affinity_obstacle(
            effective_placement(step, self._settings).affinity, machines=len(self._fit(path))
        )
        if affinity is not None:
            return affinity
        others = needs_of(step, self._settings).others
        if others:
            return f"it asks for {', '.join(others)}, of which the cluster file does not tell"
        if step.retry is not None and step.retry.other_node and len(self._fit(path)) < 2:
            return "its retries go to other machines, and where it would run there is no other"
        return None

    def _refuse(self) -> None:
        if not self._indistinct:
            return
        advice = (
            "State a label that they alone have among the labels of cluster.yaml, such as "
            "couler.io/group; or if the machines have a label with their group as its value, name "
            "it: place{group_label=KEY}"
        )
        if self._bind == "node":
            advice = (
                "Machines of pools have no names: describe each by itself, as `couler cluster "
                "import` does, or bind steps to groups"
            )
        problems = [
            Diagnostic(
                "CLR551",
                f"{where}: no label tells these machines from others, so the pods of "
                f"{counted(len(steps), 'step')} cannot be bound to them. {advice}",
                step=steps[0][0],
                source=steps[0][1].source,
            )
            for where, steps in self._indistinct.items()
        ]
        raise InvalidWorkflowError("machines cannot be selected", problems)

    def summary(self, strategy: str) -> str:
        """Say how many steps run where."""
        parts = [f"{count:,} on {where}" for where, count in self._counts.most_common()]
        return f"Placed by {strategy}: {', '.join(parts) or 'nothing'}."

    def _placed(self, step: Step, path: str) -> Step:
        chosen = list({node.name: node for node in self._chosen[path]}.values())
        where = self._where(chosen)
        selection = self._selection(chosen)
        if selection is None:
            self._indistinct.setdefault(where, []).append((path, step))
            return step
        self._counts[where] += 1
        own = effective_placement(step, self._settings)
        resources = self._with_gpu(step, path)
        may = set(self._tolerate)
        if self._tasks[path].gpus:
            may |= self._gpu_keys
        urgency = self._urgencies[path]
        priority = math.ceil(urgency.tail_s) if self.has_order else None
        urgent = self._urgent_class if urgency.is_critical else ""
        placement = own.model_copy(
            update={
                "priority": priority if own.priority is None else own.priority,
                "priority_class": own.priority_class or urgent or None,
                "node_selector": freeze_json({**own.node_selector, **selection.labels}),
                "affinity": self._affinity(own.affinity, selection, chosen),
                "tolerations": (
                    *own.tolerations,
                    *tolerations_for(self._fit(path), own.tolerations, may),
                ),
            }
        )
        self.reasons[path] = self._reason(path, chosen, where)
        return step.model_copy(update={"placement": placement, "resources": resources})

    def _affinity(
        self, own: Mapping[str, t.Any], selection: Selection, chosen: Sequence[ClusterNode]
    ) -> t.Any:
        """Return the affinity of a step, which prefers the machines that were chosen for it."""
        key = self._bound_to(chosen), tuple(node.name for node in chosen)
        if not own and key in self._affinities:
            return self._affinities[key]
        affinity = dict(selection.affinity)
        if len(self._allowed(chosen)) > len(chosen):
            preferred = self._selectors.prefer([node.name for node in chosen])
            if preferred:
                terms = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
                affinity["nodeAffinity"] = {**affinity.get("nodeAffinity", {}), **terms}
        made = freeze_json(merged_affinity(own, affinity))
        if not own:
            self._affinities[key] = made
        return made

    def _selection(self, chosen: Sequence[ClusterNode]) -> Selection | None:
        key = frozenset(self._bound_to(chosen))
        if key not in self._selections:
            names = [node.name for node in self._allowed(chosen)]
            self._selections[key] = self._selectors.select(names)
        return self._selections[key]

    def _fit(self, path: str) -> list[ClusterNode]:
        """Return the machines to which a step is bound that can run it."""
        task, chosen = self._tasks[path], self._chosen[path]
        key = shape_of(task), self._bound_to(chosen)
        if key not in self._fitting:
            allowed = self._allowed(chosen)
            self._fitting[key] = [node for node in allowed if refusal(task, node, 1.0) is None]
        return self._fitting[key]

    def _allowed(self, chosen: Sequence[ClusterNode]) -> list[ClusterNode]:
        """Return the machines on which a step may run for which some were chosen."""
        key = self._bound_to(chosen)
        if key not in self._members:
            found = {node.name: node for node in chosen}
            if self._bind == "group":
                found = {one.name: one for node in chosen for one in self._peers[node.name]}
            self._members[key] = list(found.values())
        return self._members[key]

    def _bound_to(self, chosen: Sequence[ClusterNode]) -> _Bound:
        """Return the machines to which a step is bound, or the first of each group of them."""
        if self._bind == "node":
            return tuple(dict.fromkeys(node.name for node in chosen))
        return tuple(dict.fromkeys(self._peers[node.name][0].name for node in chosen))

    def _where(self, chosen: Sequence[ClusterNode]) -> str:
        if self._bind == "node":
            return " and ".join(sorted(node.name for node in chosen))
        names = {str(self._peers[node.name]) for node in chosen}
        return " and ".join(name for name in self._places if name in names)

    def _with_gpu(self, step: Step, path: str) -> Resources | None:
        """Return what a step requests, and a GPU besides if it gets one."""
        resource = self._gpu_steps.get(path)
        if resource is None:
            return step.resources
        gpu = Gpu(count=1, resource=resource)
        return (step.resources or Resources()).model_copy(update={"gpu": gpu})

    def _for_items(self, path: str) -> str:
        """Say why the items of a foreach count as fewer tasks; nothing where they do not."""
        items, tasks = self._items.get(path), len(self._chosen[path])
        if items is None:
            return ""
        why = "a step has no more here" if tasks >= MOST_COPIES_OF_ALL else "no more have room"
        return f" for {items:,} items, as {why}"

    def _reason(self, path: str, chosen: Sequence[ClusterNode], where: str) -> str:
        names = [node.name for node in self._chosen[path]]
        if len(names) > 1:
            groups = Counter(str(self._peers[node.name]) for node in self._chosen[path])
            told = f"On {where}: {counted(len(names), 'task')}{self._for_items(path)}"
            if len(groups) > 1:
                shares = (f"{count:,} on {group}" for group, count in groups.most_common())
                told = f"{told}, {', '.join(shares)}"
            return f"{told}."
        on = where if where == chosen[0].name else f"{where}, at best {chosen[0].name}"
        told = f"On {on}: {self._why[path]}" if path in self._why else f"On {on}"
        return f"{told}, with a GPU." if path in self._gpu_steps else f"{told}."


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_Json: t.TypeAlias = Mapping[str, t.Any]


def affinity_obstacle(affinity: _Json, *, machines: int) -> str | None:
    """Return why a step with an affinity cannot be bound to machines; None if it can."""
    if _part(affinity, "nodeAffinity").get(_REQUIRED):
        return "it has an affinity already, which requires machines"
    if _part(affinity, "podAffinity").get(_REQUIRED):
        return "its affinity requires other pods beside it, and where these run is not known"
    if _part(affinity, "podAntiAffinity").get(_REQUIRED) and machines < 2:
        return (
            "its pods must stay apart from others, and where it would run there is one machine "
            "alone"
        )
    return None


def merged_affinity(own: _Json, made: _Json) -> dict[str, t.Any]:
    """Return an affinity of a step with the terms for nodes that were chosen."""
    if not made:
        return dict(own)
    node = _part(own, "nodeAffinity")
    terms = {**node, **_part(made, "nodeAffinity")}
    preferred = [
        *(node.get(_PREFERRED) or ()),
        *(_part(made, "nodeAffinity").get(_PREFERRED) or ()),
    ]
    if preferred:
        terms[_PREFERRED] = preferred
    return {**own, "nodeAffinity": terms}


def _part(affinity: _Json, name: str) -> _Json:
    found = affinity.get(name)
    return found if isinstance(found, Mapping) else {}


class Peers(tuple[ClusterNode, ...]):
    """Machines that do for each other, in the order of the cluster."""

    __slots__ = ()

    def __str__(self) -> str:
        first = self[0]
        if first.group or len(self) == 1:
            return first.group or first.name
        return f"{first.name} and {len(self) - 1:,} like it"


def peers_of(cluster: Cluster) -> Mapping[str, Peers]:
    """Return the machines that do for each machine, by its name, itself among them."""
    named = {speed.group for speed in cluster.speeds}
    found: dict[object, list[ClusterNode]] = {}
    for node in cluster.nodes:
        found.setdefault(_kind(node, named), []).append(node)
    peers = {kind: Peers(some) for kind, some in found.items()}
    return {node.name: peers[_kind(node, named)] for node in cluster.nodes}


def _kind(node: ClusterNode, named: set[str]) -> object:
    if node.group:
        return node.group
    return (
        node.name if node.name in named else "",
        node.labels.get(INSTANCE_TYPE_LABEL),
        node.labels.get(GROUP_LABEL),
        node.architecture,
        *size_of(node),
        node.gpus,
        node.taints,
        node.price_usd_per_h,
    )


def job_reason(pods: JobPods, cluster: Cluster) -> str:
    """Say that a job is not placed, why, and where its pods would fit."""
    if pods.unknown:
        return f"It is not placed, nor checked: {pods.unknown}."
    fits = [(one, _groups(one, cluster.nodes)) for one in pods.replicas]
    told = "; ".join(f"{one.count:,} x {one.type} on {', '.join(at)}" for one, at in fits)
    text = (
        "It is not placed: a job's pods are of its operator. By what they ask for they fit: "
        f"{told}."
    )
    unread = list(dict.fromkeys(name for one in pods.replicas for name in one.unread))
    if unread:
        text += f" Not looked at: {', '.join(unread)}."
    lent = [one.type for one, at in fits if _groups(_by_itself(one), cluster.nodes) != at]
    if lent:
        text += (
            f" {' and '.join(lent)} must tolerate the taints of GPUs there, unless the cluster "
            "lets pods that ask for GPUs do so."
        )
    return text


def _by_itself(one: Replicas) -> Replicas:
    return replace(one, task=replace(one.task, tolerations=one.own_tolerations))


def _groups(one: Replicas, nodes: Sequence[ClusterNode]) -> list[str]:
    fitting = (node for node in nodes if refusal(one.task, node, 1.0) is None)
    return list(dict.fromkeys(node.group or node.name for node in fitting))


_SLACK_SHARE = 1e-3
"""A step that could start later by less than this part of the whole is critical."""


class Urgency(t.NamedTuple):
    """How urgent a step is."""

    tail_s: float
    is_critical: bool


def urgencies(workload: Workload, report: Report) -> dict[str, Urgency]:
    """Return how urgent each step is, by its path: of a foreach, the most urgent item."""
    after: defaultdict[str, list[str]] = defaultdict(list)
    for edge in workload.pipeline.edges:
        after[edge.source].append(edge.target)
    tails: dict[str, float] = {}
    found: dict[str, Urgency] = {}
    for span in reversed(report.spans):  # whatever waits for a task starts after it
        behind = max((tails.get(name, 0.0) for name in after[span.task]), default=0.0)
        tail_s = tails[span.task] = span.end_s - span.start_s + behind
        if span.task not in workload.step_of:
            continue
        slack_s = report.total_s - span.start_s - tail_s
        path = workload.step_of[span.task]
        known = found.get(path, Urgency(0.0, False))
        is_critical = known.is_critical or slack_s <= _SLACK_SHARE * report.total_s
        found[path] = Urgency(max(known.tail_s, tail_s), is_critical)
    return found
