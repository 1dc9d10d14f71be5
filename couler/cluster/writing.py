"""Write a cluster as `cluster.yaml`, so that reading it gives an equal one."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from couler.cluster.model import Cluster, ClusterNode
from couler.cluster.tables import (
    ClusterTable,
    GpusTable,
    MachineTable,
    NodeTable,
    SpeedTable,
    TaintTable,
)
from couler.config_files import Table
from couler.ir.yaml_writer import dump

Json: t.TypeAlias = t.Any


def to_yaml(cluster: Cluster) -> str:
    """Return a cluster as the text of `cluster.yaml`, without what is as it is by default."""
    return dump(to_tree(cluster))


def speeds_to_yaml(cluster: Cluster) -> str:
    """Return what a cluster states of speeds as `cluster.yaml` has it, and nothing else."""
    return dump({"speeds": _WRITE["speeds"](cluster.speeds)})


def to_tree(cluster: Cluster) -> dict[str, Json]:
    """Return the tree that `to_yaml` writes."""
    machines: dict[str, list[Json]] = {}
    parts = _parts(cluster.nodes)
    kinds = [kind for kind, _ in groupby("pools" if len(part) == 2 else "nodes" for part in parts)]
    if len(kinds) > 2:  # a file has each of the two lists once
        machines["nodes"] = [_stated(NodeTable, node) for node in cluster.nodes]
        parts = []
    for part in parts:
        if len(part) == 2:
            pool = {"name": part[0].pool, "count": part[1], **_stated(MachineTable, part[0])}
            machines.setdefault("pools", []).append(pool)
        else:
            machines.setdefault("nodes", []).append(_stated(NodeTable, part[0]))
    facts = _stated(ClusterTable, replace(cluster, nodes=()))
    named = {"name": facts.pop("name")} if "name" in facts else {}
    return {**named, **machines, **facts}


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


def _stated(model: type[Table], given: object, *always: str) -> dict[str, Json]:
    """Return the keys of a table that are not as they are by default, as the file has them."""
    found: dict[str, Json] = {}
    for name, field in model.model_fields.items():
        value = getattr(given, name, None)
        if name in always or (value != field.default and value not in (None, ())):
            found[field.alias or name] = _WRITE[name](value) if name in _WRITE else value
    return found


def memory_text(size_bytes: int) -> str | int:
    """Return bytes as a quantity with the largest unit of which they are a whole number."""
    power = 0
    while power < 6 and size_bytes and size_bytes % 1024 ** (power + 1) == 0:
        power += 1
    return f"{size_bytes // 1024**power}{'KMGTPE'[power - 1]}i" if power else size_bytes


def _cpu(cpu: float) -> float | int:
    return int(cpu) if cpu < 2**53 and cpu == int(cpu) else cpu


_WRITE: Mapping[str, Callable[[t.Any], Json]] = {
    "cpu": _cpu,
    "gpus": lambda gpus: _stated(GpusTable, gpus, "count"),
    "labels": dict,
    "memory_bytes": memory_text,
    "speeds": lambda speeds: [_stated(SpeedTable, speed) for speed in speeds],
    "taints": lambda taints: [_stated(TaintTable, taint, "effect") for taint in taints],
}
"""How values are written that the file has in another form."""
