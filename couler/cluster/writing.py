"""Write a cluster as `cluster.yaml`, so that reading it gives an equal one."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from couler.cluster.model import (
    BANDWIDTH_BYTES_PER_S,
    PODS,
    Cluster,
    ClusterNode,
    Gpus,
    Speed,
    Taint,
)
from couler.ir.yaml_writer import dump

__all__ = ["memory_text", "speeds_to_yaml", "to_tree", "to_yaml"]

Json: t.TypeAlias = t.Any


def to_yaml(cluster: Cluster) -> str:
    """Return a cluster as the text of `cluster.yaml`, without what is as it is by default."""
    return dump(to_tree(cluster))


def speeds_to_yaml(cluster: Cluster) -> str:
    """Return what a cluster states of speeds as `cluster.yaml` has it, and nothing else."""
    return dump({"speeds": [_speed(speed) for speed in cluster.speeds]})


def to_tree(cluster: Cluster) -> dict[str, Json]:
    """Return the tree that `to_yaml` writes."""
    named = {"name": cluster.name} if cluster.name else {}
    parts = _parts(cluster.nodes)
    kinds = [kind for kind, _ in groupby("pools" if len(part) == 2 else "nodes" for part in parts)]
    if len(kinds) > 2:  # a file has each of the two lists once
        return {**named, "nodes": [_node(node) for node in cluster.nodes], **_facts(cluster)}
    tree: dict[str, Json] = {**named, **{kind: [] for kind in kinds}}
    for part in parts:
        if len(part) == 2:
            tree["pools"].append({"name": part[0].pool, "count": part[1], **_machine(part[0])})
        else:
            tree["nodes"].append(_node(part[0]))
    return {**tree, **_facts(cluster)}


def _facts(cluster: Cluster) -> dict[str, Json]:
    """Return what is stated of all machines together."""
    facts: dict[str, Json] = {}
    if cluster.speeds:
        facts["speeds"] = [_speed(speed) for speed in cluster.speeds]
    if cluster.bandwidth_bytes_per_s != BANDWIDTH_BYTES_PER_S:
        facts["bandwidth_bytes_per_s"] = cluster.bandwidth_bytes_per_s
    if cluster.pod_start_s:
        facts["pod_start_s"] = cluster.pod_start_s
    return facts


def _speed(speed: Speed) -> dict[str, Json]:
    named = {"group": speed.group, "model": speed.model}
    return {
        **{key: text for key, text in named.items() if text},
        "operations_per_s": speed.operations_per_s,
    }


_Part: t.TypeAlias = "tuple[ClusterNode] | tuple[ClusterNode, int]"


def _parts(nodes: Sequence[ClusterNode]) -> list[_Part]:
    """Return the nodes one by one, and whole pools as the first node and how many there are."""
    rows = [list(group) for _, group in groupby(nodes, lambda node: node.pool)]
    pools = [row[0].pool for row in rows]
    parts: list[_Part] = []
    for row in rows:
        if row[0].pool and pools.count(row[0].pool) == 1 and _is_made_by_a_pool(row):
            parts.append((row[0], len(row)))
        else:
            parts += [(node,) for node in row]
    return parts


def _is_made_by_a_pool(row: Sequence[ClusterNode]) -> bool:
    first = row[0]
    return all(
        node == replace(first, name=f"{first.pool}-{number}")
        for number, node in enumerate(row, start=1)
    )


def _node(node: ClusterNode) -> dict[str, Json]:
    pool = {"pool": node.pool} if node.pool else {}
    return {"name": node.name, **pool, **_machine(node)}


def _machine(node: ClusterNode) -> dict[str, Json]:
    return dict(_entries(node))


def _entries(node: ClusterNode) -> Iterator[tuple[str, Json]]:
    yield "cpu", int(node.cpu) if node.cpu < 2**53 and node.cpu == int(node.cpu) else node.cpu
    yield "memory", memory_text(node.memory_bytes)
    if node.pods != PODS:
        yield "pods", node.pods
    if node.architecture != "amd64":
        yield "architecture", node.architecture
    if node.group:
        yield "group", node.group
    if node.gpus is not None:
        yield "gpus", _gpus(node.gpus)
    if node.labels:
        yield "labels", dict(node.labels)
    if node.taints:
        yield "taints", [_taint(taint) for taint in node.taints]
    if node.price_usd_per_h is not None:
        yield "price_usd_per_h", node.price_usd_per_h
    if node.cpu_flags is not None:
        yield "cpu_flags", node.cpu_flags


def _gpus(gpus: Gpus) -> dict[str, Json]:
    tree: dict[str, Json] = {"type": gpus.type} if gpus.type else {}
    tree["count"] = gpus.count
    if gpus.memory_bytes is not None:
        tree["memory"] = memory_text(gpus.memory_bytes)
    if gpus.resource != "nvidia.com/gpu":
        tree["resource"] = gpus.resource
    return tree


def _taint(taint: Taint) -> dict[str, Json]:
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def memory_text(size_bytes: int) -> str | int:
    """Return bytes as a quantity with the largest unit of which they are a whole number."""
    power = 0
    while power < 6 and size_bytes and size_bytes % 1024 ** (power + 1) == 0:
        power += 1
    return f"{size_bytes // 1024**power}{'KMGTPE'[power - 1]}i" if power else size_bytes
