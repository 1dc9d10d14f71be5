"""Read `cluster.yaml`: every problem of the file at once, each with its line."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from couler.cluster import fields
from couler.cluster.fields import Field, Rows, Table, Texts
from couler.cluster.model import (
    BANDWIDTH_BYTES_PER_S,
    PODS,
    Cluster,
    ClusterNode,
    Gpus,
    Speed,
    Taint,
)
from couler.cluster.values import Kind, check_label_key
from couler.cluster.yaml_text import Problems, compose, is_quoted, line_of
from couler.errors import ConfigurationError
from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.kubernetes import is_subdomain

if t.TYPE_CHECKING:
    import yaml

__all__ = ["CLUSTER_FILE", "read_cluster", "read_cluster_file"]

CLUSTER_FILE = "cluster.yaml"
"""The name of the file where no other is given."""

_ITEMS = {"nodes": "node", "pools": "pool"}


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
    root = compose(text, file)
    if root is None:
        raise ConfigurationError(f"{file}: it is empty. Describe machines below nodes or pools")
    problems = Problems(file)
    cluster = _Reader(problems).cluster(root)
    problems.refuse()
    return cluster


class _Reader:
    """Reads one file; what is wrong is noted, and left out of what it returns."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._nodes: dict[str, int] = {}
        self._pools: dict[str, int] = {}

    def cluster(self, root: yaml.Node) -> Cluster:
        """Return the whole."""
        table = self._problems.table(root, fields.FILE.fields)
        nodes: list[ClusterNode] = []
        found: dict[str, t.Any] = {}
        for key, (_, value) in table.items():  # the order of the file is that of the nodes
            if key in _ITEMS:
                nodes += self._machines(key, value)
            elif key != "speeds":
                found[key] = self._value(key, fields.FILE.fields[key], value)
        if not nodes and not self._problems:
            self._problems.add(root, "no machine is described. Give nodes, pools or both")
        places = {*(node.name for node in nodes), *(node.group for node in nodes if node.group)}
        _, speeds = table.get("speeds", (None, None))
        return Cluster(
            tuple(nodes),
            found.get("name") or "",
            () if speeds is None else tuple(self._speeds(speeds, places)),
            found.get("bandwidth_bytes_per_s") or BANDWIDTH_BYTES_PER_S,
            found.get("pod_start_s") or 0.0,
        )

    def _speeds(self, value: yaml.Node, places: Collection[str]) -> Iterator[Speed]:
        """Yield the speeds of the file, each of a group that there is, and none twice."""
        lines: dict[tuple[str, str], int] = {}
        for number, item in enumerate(self._problems.row(value, "speeds"), start=1):
            with self._problems.inside(f"speed {number}"):
                found = self._table(fields.SPEED, item)
                which = found.get("group", ""), found.get("model", "")
                if which[0] and which[0] not in places:
                    hint = did_you_mean(which[0], places)
                    self._problems.add(item, f'no machine is of the group "{which[0]}".{hint}')
                if which in lines:
                    self._problems.add(item, f"line {lines[which]} states this speed already")
                lines[which] = line_of(item)
                yield Speed(found.get("operations_per_s", 1.0), *which)

    def _machines(self, key: str, value: yaml.Node) -> Iterator[ClusterNode]:
        rows = fields.FILE.fields[key].shape
        assert isinstance(rows, Rows)
        for number, item in enumerate(self._problems.row(value, key), start=1):
            with self._problems.inside(f"{_ITEMS[key]} {_called(item) or number}"):
                found = self._table(rows.table, item)
                yield from self._pool(found, item) if key == "pools" else self._node(found, item)

    def _node(self, found: Mapping[str, t.Any], item: yaml.Node) -> Iterator[ClusterNode]:
        name = found.get("name")
        if name is not None and self._is_new(name, item):
            yield _machine(found, name, found.get("pool") or "")

    def _pool(self, found: Mapping[str, t.Any], item: yaml.Node) -> Iterator[ClusterNode]:
        name, count = found.get("name"), found.get("count")
        if name is None or count is None:
            return
        if name in self._pools:
            self._problems.add(
                item, f"another pool is called so, in line {self._pools[name]}; names are unique"
            )
            return
        self._pools[name] = line_of(item)
        if not is_subdomain(f"{name}-{count}"):
            self._problems.add(item, f'"{name}-{count}" is too long for the name of a node')
            return
        for number in range(1, count + 1):
            if not self._is_new(f"{name}-{number}", item):
                return
            yield _machine(found, f"{name}-{number}", name)

    def _is_new(self, name: str, item: yaml.Node) -> bool:
        """Take a name, or note that another node has it."""
        if name in self._nodes:
            self._problems.add(
                item,
                f'another node is called "{name}", in line {self._nodes[name]}; names are unique',
            )
            return False
        self._nodes[name] = line_of(item)
        return True

    def _table(self, table: Table, node: yaml.Node) -> dict[str, t.Any]:
        """Return the values of a table that are right."""
        found = self._problems.table(node, table.fields, table.required)
        values = {
            key: self._value(key, table.fields[key], value) for key, (_, value) in found.items()
        }
        return {key: value for key, value in values.items() if value is not None}

    def _value(self, key: str, field: Field, node: yaml.Node) -> t.Any:
        match field.shape:
            case Kind() as kind:
                return self._scalar(key, kind, node)
            case Table() as table:
                with self._problems.inside(key):
                    return self._table(table, node)
            case Rows(table):
                return [
                    self._item(f"{key} {number}", table, item)
                    for number, item in enumerate(self._problems.row(node, key), start=1)
                ]
            case Texts(_, kind):
                return self._texts(key, kind, node)
        t.assert_never(field.shape)

    def _item(self, place: str, table: Table, node: yaml.Node) -> dict[str, t.Any]:
        with self._problems.inside(place):
            return self._table(table, node)

    def _texts(self, place: str, kind: Kind, node: yaml.Node) -> dict[str, str]:
        with self._problems.inside(place):
            found = {}
            for name, (key, value) in self._problems.table(node, None).items():
                try:
                    check_label_key(name)
                except ValueError as error:
                    self._problems.add(key, str(error))
                found[name] = self._scalar(name, kind, value)
        return {name: text for name, text in found.items() if text is not None}

    def _scalar(self, key: str, kind: Kind, node: yaml.Node) -> t.Any:
        if kind.is_number and is_quoted(node):
            self._problems.add(node, f"{key} must be a number: write it without quotes")
            return None
        return self._problems.scalar(node, key, kind.read, is_text=kind.is_text)


def _called(item: yaml.Node) -> str:
    """Return the name of a node or pool for messages, in quotes; empty if it has none."""
    pairs = item.value if item.tag.endswith(":map") else ()
    for key, value in pairs:
        if key.value == "name" and isinstance(value.value, str) and value.value:
            return f'"{value.value}"'
    return ""


def _machine(found: Mapping[str, t.Any], name: str, pool: str) -> ClusterNode:
    """Return a node; what is missing was noted, so that any value will do."""
    gpus = found.get("gpus")
    return ClusterNode(
        name,
        found.get("cpu", 1.0),
        found.get("memory", 1),
        group=found.get("group", ""),
        pool=pool,
        architecture=found.get("architecture", "amd64"),
        gpus=None if gpus is None else _gpus(gpus),
        labels=found.get("labels", {}),
        taints=tuple(Taint(**one) for one in found.get("taints", ()) if "key" in one),
        price_usd_per_h=found.get("price_usd_per_h"),
        cpu_flags=found.get("cpu_flags"),
        pods=found.get("pods", PODS),
    )


def _gpus(found: Mapping[str, t.Any]) -> Gpus:
    return Gpus(
        found.get("type", ""),
        found.get("count", 1),
        found.get("memory"),
        found.get("resource", "nvidia.com/gpu"),
    )
