"""The nodes of a live cluster, as the Kubernetes API tells of them, as a `Cluster`."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.cluster.earlier import INSTANCE_TYPE_LABEL, keep_earlier
from couler.cluster.model import PODS, Cluster, ClusterNode, Effect, Gpus, Taint
from couler.cluster.values import (
    ARCHITECTURES,
    EFFECTS,
    MOST,
    check_label_value,
    read_count,
    read_cpu,
    read_memory,
)
from couler.ir.quantity import parse_quantity
from couler.ir.wording import counted

Json: t.TypeAlias = t.Any

GROUP_LABEL = "couler.io/group"
"""The label that names the performance group of a node."""

ARCHITECTURE_LABEL = "kubernetes.io/arch"

_ARCHITECTURES = (ARCHITECTURE_LABEL, "beta.kubernetes.io/arch")
_SYSTEM_LABEL = "kubernetes.io/os"

_CPU_FLAG = "feature.node.kubernetes.io/cpu-cpuid."
"""Begins the labels by which Node Feature Discovery tells of features of processors."""

_GPU = re.compile(r"[^/]+/(?:gpu|gpu\.shared|mig-[^/]+)|gpu\.intel\.com/(?:i915|xe)")
"""Names of resources that are GPUs, or parts or shares of one."""

_TYPES = (
    "amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
"""Labels that name the model of GPUs whose resource has no label `RESOURCE.product`."""

_MOST_NAMES = 4

_MEBIBYTES = ("karpenter.k8s.aws/instance-gpu-memory",)
_QUANTITIES = ("amd.com/gpu.vram",)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A node that takes no pods now."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LiveNodes:
    """What a cluster tells of its nodes."""

    cluster: Cluster
    left_out: tuple[LeftOut, ...]
    remarks: tuple[str, ...]


def read_live_nodes(
    items: Sequence[Json],
    *,
    name: str = "",
    group_label: str = GROUP_LABEL,
    earlier: Cluster | None = None,
) -> LiveNodes:
    """Return the machines that live nodes are."""
    nodes: list[ClusterNode] = []
    left_out: list[LeftOut] = []
    remarks: dict[str, list[str]] = {}
    for item in sorted(items, key=_name):
        reason = _not_usable(item)
        if reason is not None:
            left_out.append(LeftOut(_name(item), reason))
            continue
        found = _Node(item, group_label)
        try:
            nodes.append(found.machine())
        except ValueError as error:
            left_out.append(LeftOut(_name(item), str(error)))
            continue
        for remark in found.remarks:
            remarks.setdefault(remark, []).append(_name(item))
    cluster = Cluster(tuple(nodes), name)
    if earlier is not None:
        cluster = keep_earlier(cluster, earlier)
    told = (f"{_listed(names)}: {remark}" for remark, names in remarks.items())
    return LiveNodes(cluster, tuple(left_out), (*_unknown(cluster, group_label), *told))


def _not_usable(item: Json) -> str | None:
    """Return why no pod goes to a node, or None."""
    if _table(item, "metadata").get("deletionTimestamp"):
        return "it is being deleted"
    if _table(item, "spec").get("unschedulable"):
        return "it is cordoned (unschedulable)"
    conditions = _table(item, "status").get("conditions") or ()
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    if ready != ["True"]:
        return "it is not ready"
    system = _labels(item).get(_SYSTEM_LABEL, "linux")
    return None if system == "linux" else f"its system is {system}"


class _Node:
    """One node, and what is to be said of it."""

    def __init__(self, item: Json, group_label: str) -> None:
        self._item = item
        self._labels = _labels(item)
        self._allocatable: Mapping[str, Json] = _table(_table(item, "status"), "allocatable")
        self._group_label = group_label
        self.remarks: list[str] = []

    def machine(self) -> ClusterNode:
        """Return the node; a ValueError says why it cannot be used."""
        return ClusterNode(
            _name(self._item),
            self._amount("cpu", read_cpu),
            self._amount("memory", read_memory),
            group=self._group(),
            architecture=self._architecture(),
            gpus=self._gpus(),
            labels=self._labels,
            taints=tuple(self._taints()),
            cpu_flags=self._cpu_flags(),
            pods=self._amount("pods", read_count) if "pods" in self._allocatable else PODS,
        )

    def _amount(self, resource: str, read: t.Callable[[str], t.Any]) -> t.Any:
        try:
            return read(str(self._allocatable.get(resource, "0")))
        except ValueError as error:
            raise ValueError(f"its allocatable {resource}: {error}") from error

    def _group(self) -> str:
        group = self._labels.get(self._group_label, "")
        return check_label_value(group)

    def _architecture(self) -> str:
        told = next((self._labels[one] for one in _ARCHITECTURES if one in self._labels), "amd64")
        if told not in ARCHITECTURES:
            raise ValueError(f"its architecture {told} is not known")
        return told

    def _gpus(self) -> Gpus | None:
        counts = dict(self._gpu_counts())
        if not counts:
            return None
        resource = max(counts, key=lambda name: counts[name])
        others = [name for name in counts if name != resource]
        if others:
            self._say(f"of its GPUs only {resource} are taken, not {', '.join(others)}")
        base = resource.removesuffix(".shared")  # its labels are those of the whole GPUs
        shares = self._labels.get(f"{base}.replicas", "1")
        if shares not in ("0", "1"):
            self._say(f"{resource} are shares, {shares} of each GPU: memory is that of a whole one")
        names = (f"{base}.product", *_TYPES)
        kind = next((self._labels[one] for one in names if one in self._labels), "")
        return Gpus(kind, counts[resource], self._gpu_memory(base), resource)

    def _gpu_counts(self) -> Iterator[tuple[str, int]]:
        for resource, amount in self._allocatable.items():
            if _GPU.fullmatch(resource) is not None:
                count = int(parse_quantity(str(amount)))
                if count > 0:
                    yield resource, min(count, MOST)

    def _gpu_memory(self, resource: str) -> int | None:
        labels = self._labels
        for name in (f"{resource}.memory", *_MEBIBYTES):
            if name in labels and re.fullmatch(r"\d{1,9}", labels[name], flags=re.ASCII):
                return int(labels[name]) * 1024**2 or None
        for name in _QUANTITIES:
            if name in labels:
                try:
                    return read_memory(labels[name])
                except ValueError:
                    break
        return None

    def _taints(self) -> Iterator[Taint]:
        for taint in _table(self._item, "spec").get("taints") or ():
            if taint.get("effect") not in EFFECTS:
                raise ValueError(f"the effect of its taint {taint.get('key')} is not known")
            effect = t.cast(Effect, taint["effect"])
            yield Taint(taint["key"], taint.get("value") or "", effect)

    def _cpu_flags(self) -> int | None:
        count = sum(
            name.startswith(_CPU_FLAG) and value == "true" for name, value in self._labels.items()
        )
        return count or None

    def _say(self, text: str) -> None:
        self.remarks.append(text)


def _unknown(cluster: Cluster, group_label: str) -> Iterator[str]:
    """Yield what is not known of nodes."""
    priceless = [node for node in cluster.nodes if node.price_usd_per_h is None]
    if priceless:
        types = Counter(
            node.labels.get(INSTANCE_TYPE_LABEL, "no instance type") for node in priceless
        )
        told = ", ".join(f"{kind} ({counted(types[kind], 'node')})" for kind in sorted(types))
        yield f"no prices, which a cluster does not know: state price_usd_per_h, for {told}"
    without = [node.name for node in cluster.nodes if not node.group]
    if without:
        yield f"{_listed(without)}: no group, as no label {group_label} names one; state group"
    untyped = [node.name for node in cluster.nodes if node.gpus is not None and not node.gpus.type]
    if untyped:
        yield f"{_listed(untyped)}: no label tells the type of the GPUs; state gpus.type"


def _listed(names: Sequence[str]) -> str:
    """Return names, the first ones if there are many."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    shown = _MOST_NAMES - 1
    return f"{', '.join(names[:shown])} and {len(names) - shown:,} more"


def _name(item: Json) -> str:
    return str(_table(item, "metadata").get("name", ""))


def _labels(item: Json) -> dict[str, str]:
    return dict(_table(item, "metadata").get("labels") or {})


def _table(item: Json, name: str) -> Mapping[str, Json]:
    return t.cast("Mapping[str, Json]", item.get(name) or {})
