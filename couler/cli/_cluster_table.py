"""The machines of a cluster as a table, and as JSON."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import click

from couler.cli.format import aligned, bytes_text
from couler.cli.session import Session
from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.ir.wording import counted

_HEADER = (
    "machine",
    "count",
    "group",
    "cpu",
    "memory",
    "arch",
    "GPUs",
    "USD/h",
    "taints",
    "labels",
)
_RIGHT = frozenset({"count", "cpu", "memory", "USD/h"})
_LONG = frozenset({"machine", "GPUs", "taints", "labels"})
"""Columns whose cells may have several lines on a terminal."""


def show_cluster(session: Session, cluster: Cluster) -> None:
    """Write the table: a line for each machine, or for machines of a pool that are alike."""
    rows = [_row(nodes, with_labels=session.verbose) for nodes in _alike(cluster.nodes)]
    used = [index for index in range(len(_HEADER)) if any(row[index] for row in rows)]
    header = [_HEADER[index] for index in used]
    cells = [[row[index] for index in used] for row in rows]
    width = session.width_of_terminal()
    if width is not None:
        _show_rich(session, header, cells, width)
        return
    right = {index for index, name in enumerate(header) if name in _RIGHT}
    for line in aligned((header, *cells), right=right):
        click.echo(line)


def _show_rich(
    session: Session, header: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in header:
        table.add_column(
            name,
            justify="right" if name in _RIGHT else "left",
            no_wrap=name not in _LONG,
            overflow="fold",
            style="cyan" if name == "group" else None,
        )
    for row in rows:
        table.add_row(*map(Text, row))
    colour = session.has_colour(sys.stdout)
    console = session.console(sys.stdout, width)
    with console.capture() as capture:
        console.print(table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    click.echo("\n".join(lines).strip("\n"), color=colour or None)


def totals(cluster: Cluster) -> str:
    """Return in words what all machines have together, and cost."""
    nodes = cluster.nodes
    gpus = sum(node.gpus.count for node in nodes if node.gpus is not None)
    prices = [node.price_usd_per_h for node in nodes if node.price_usd_per_h is not None]
    unknown = len(nodes) - len(prices)
    cost = f"{_number(sum(prices))} USD/h" if prices else "no price is known"
    if prices and unknown:
        cost += f" (and {unknown:,} whose price is not known)"
    name = f"{cluster.name}: " if cluster.name else ""
    return (
        f"{name}{counted(len(nodes), 'machine')}: {_number(sum(node.cpu for node in nodes))} cpu, "
        f"{bytes_text(sum(node.memory_bytes for node in nodes))}, "
        f"{counted(gpus, 'GPU') if gpus else 'no GPUs'}, {cost}"
    )


def cluster_json(cluster: Cluster) -> dict[str, t.Any]:
    """Return a cluster as JSON, with all fields of its nodes."""
    return {
        "name": cluster.name,
        "groups": list(cluster.groups),
        "nodes": [_node_json(node) for node in cluster.nodes],
    }


def _alike(nodes: Sequence[ClusterNode]) -> Iterator[list[ClusterNode]]:
    """Yield nodes by themselves, and neighbours of a pool that differ in their names alone."""
    for _, group in groupby(nodes, lambda node: replace(node, name="") if node.pool else node):
        yield list(group)


def _row(nodes: Sequence[ClusterNode], *, with_labels: bool) -> tuple[str, ...]:
    node = nodes[0]
    name = node.name if len(nodes) == 1 else f"{node.name} to {nodes[-1].name}"
    price = "" if node.price_usd_per_h is None else _number(node.price_usd_per_h)
    taints = ", ".join(
        f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
        for taint in node.taints
    )
    labels = ", ".join(f"{key}={value}" for key, value in node.labels.items())
    return (
        name,
        str(len(nodes)),
        node.group,
        _number(node.cpu),
        bytes_text(node.memory_bytes),
        node.architecture,
        "" if node.gpus is None else _gpus_text(node.gpus),
        price,
        taints,
        labels if with_labels else "",
    )


def _gpus_text(gpus: Gpus) -> str:
    memory = "" if gpus.memory_bytes is None else f" of {bytes_text(gpus.memory_bytes)}"
    return f"{gpus.count} x {gpus.type or gpus.resource}{memory}"


def _number(value: float) -> str:
    """Return a number without the digits that sums of floats have too many of."""
    if 0 < value < 0.001:
        return f"{value:.2g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def _node_json(node: ClusterNode) -> dict[str, t.Any]:
    gpus = node.gpus
    return {
        "name": node.name,
        "pool": node.pool,
        "group": node.group,
        "cpu": node.cpu,
        "memory_bytes": node.memory_bytes,
        "architecture": node.architecture,
        "gpus": None
        if gpus is None
        else {
            "type": gpus.type,
            "count": gpus.count,
            "memory_bytes": gpus.memory_bytes,
            "resource": gpus.resource,
        },
        "labels": dict(node.labels),
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in node.taints
        ],
        "price_usd_per_h": node.price_usd_per_h,
        "cpu_flags": node.cpu_flags,
        "pods": node.pods,
    }
