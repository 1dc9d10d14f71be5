"""Read `cluster.yaml`: every problem of the file at once, each with its line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed, Taint
from couler.cluster.tables import ClusterTable, MachineTable
from couler.config_files import Location, place_of, read_yaml
from couler.errors import ConfigurationError
from couler.ir.diagnostics import did_you_mean

CLUSTER_FILE = "cluster.yaml"
"""The name of the file where no other is given."""


def read_cluster_file(path: Path) -> Cluster:
    """Read the description of a cluster from a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"the cluster file {path} cannot be read: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: it is no text in UTF-8: {error}") from error
    return read_cluster(text, file=str(path))


def read_cluster(text: str, *, file: str = CLUSTER_FILE) -> Cluster:
    r"""Read the description of a cluster."""
    document = read_yaml(text, file)
    if document.tree is None:
        raise ConfigurationError(f"{file}: it is empty. Describe machines below nodes or pools")
    table = document.read(ClusterTable)
    problems: dict[Location, str] = {}
    nodes: dict[str, ClusterNode] = {}
    lines: dict[str, int] = {}
    for location, node in _machines(table, document.tree):
        if node.name in nodes:
            other = f'another node is called "{node.name}", in line {lines[node.name]}'
            problems.setdefault(location, f"{place_of(location)}: {other}; names are unique")
        nodes[node.name] = node
        lines[node.name] = document.line(location)
    if not nodes:
        problems[()] = "no machine is described. Give nodes, pools or both"
    problems |= _problems_of_speeds(table, {*nodes, *(node.group for node in nodes.values())})
    if problems:
        raise document.error(list(problems.items()))
    return Cluster(
        tuple(nodes.values()),
        table.name,
        tuple(Speed(**dict(speed)) for speed in table.speeds),
        table.bandwidth_bytes_per_s,
        table.pod_start_s,
    )


def _machines(table: ClusterTable, kinds: Iterable[str]) -> Iterator[tuple[Location, ClusterNode]]:
    """Yield the nodes in the order of the file, each with where it is stated."""
    for kind in kinds:
        if kind == "nodes":
            for index, node in enumerate(table.nodes):
                yield (kind, index), _machine(node, node.name, node.pool)
        elif kind == "pools":
            for index, pool in enumerate(table.pools):
                for number in range(1, pool.count + 1):
                    yield (kind, index), _machine(pool, f"{pool.name}-{number}", pool.name)


def _machine(table: MachineTable, name: str, pool: str) -> ClusterNode:
    fields = {**dict(table), "name": name, "pool": pool}
    fields.pop("count", None)
    if fields["gpus"] is not None:
        fields["gpus"] = Gpus(**dict(table.gpus))
    fields["taints"] = tuple(Taint(**dict(taint)) for taint in table.taints)
    return ClusterNode(**fields)


def _problems_of_speeds(table: ClusterTable, groups: Collection[str]) -> dict[Location, str]:
    """Return the speeds of groups that no machine is of, and those that are stated twice."""
    found: dict[Location, str] = {}
    stated: set[tuple[str, str]] = set()
    for index, speed in enumerate(table.speeds):
        place = f"speeds[{index}]"
        if speed.group and speed.group not in groups:
            hint = did_you_mean(speed.group, groups)
            found["speeds", index] = f'{place}: no machine is of the group "{speed.group}".{hint}'
        elif (speed.group, speed.model) in stated:
            found["speeds", index] = f"{place}: this speed is stated before. Remove one"
        stated.add((speed.group, speed.model))
    return found
