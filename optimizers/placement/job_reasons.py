"""What is told of a job, whose pods are placed by nobody but its operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from couler.cluster.model import Cluster, ClusterNode
from couler.optimizers.placement.job_pods import JobPods, Replicas
from couler.optimizers.placement.requirements import refusal

__all__ = ["job_reason"]


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
