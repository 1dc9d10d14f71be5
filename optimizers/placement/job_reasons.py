"""What is told of a job, whose pods are placed by nobody but its operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from couler.cluster.model import Cluster, ClusterNode
from couler.optimizers.placement.job_pods import JobPods, Replicas
from couler.optimizers.placement.requirements import refusal

__all__ = ["have_room_at_once", "job_reason"]

_MOST_TRIED = 10_000
"""Of more pods than these it is not looked at whether they have room at once."""


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
    if not have_room_at_once(pods.replicas, cluster.nodes):
        text += " No room was found for all of them at once, even if nothing else runs."
    return text


def have_room_at_once(replicas: Sequence[Replicas], nodes: Sequence[ClusterNode]) -> bool:
    """Return whether all pods of a job are found room at once on machines on which nothing runs."""
    if sum(one.count for one in replicas) > _MOST_TRIED:
        return True
    left = [
        [node.cpu, float(node.memory_bytes), float(node.gpus.count if node.gpus else 0)]
        for node in nodes
    ]
    able = [
        (one, [place for place, node in enumerate(nodes) if refusal(one.task, node, 1.0) is None])
        for one in replicas
    ]
    for one, places in sorted(able, key=lambda pair: len(pair[1])):
        asked = (one.task.cpu, float(one.task.memory_bytes), float(one.task.gpus))
        waiting = one.count
        for place in places:
            while waiting and all(
                has >= wants for has, wants in zip(left[place], asked, strict=True)
            ):
                left[place] = [has - wants for has, wants in zip(left[place], asked, strict=True)]
                waiting -= 1
            if not waiting:
                break
        if waiting:
            return False
    return True


def _by_itself(one: Replicas) -> Replicas:
    return replace(one, task=replace(one.task, tolerations=one.own_tolerations))


def _groups(one: Replicas, nodes: Sequence[ClusterNode]) -> list[str]:
    fitting = (node for node in nodes if refusal(one.task, node, 1.0) is None)
    return list(dict.fromkeys(node.group or node.name for node in fitting))
