"""The tables of `cluster.yaml`: their keys, what they mean, and the JSON schema of the file."""

from __future__ import annotations

import typing as t

from pydantic import Field as ModelField, model_validator

from couler.cluster import values
from couler.cluster.model import BANDWIDTH_BYTES_PER_S, PODS
from couler.config_files import Table
from couler.ir.verify.names import is_subdomain

Json: t.TypeAlias = t.Any

_NOT_KNOWN: t.Any = None
"""Of what a file leaves out: it cannot state nothing."""


class GpusTable(Table):
    """The GPUs of a machine."""

    type: values.Text = ModelField(
        "",
        description="The model, as the label of the nodes names it that steps with a GPU type "
        "select by (nvidia.com/gpu.product); not known without it.",
    )
    count: values.Count = ModelField(1, description="How many; 1 without it.")
    memory_bytes: values.Memory = ModelField(
        _NOT_KNOWN,
        alias="memory",
        description="Memory of each, a quantity of Kubernetes such as 40Gi.",
    )
    resource: values.Resource = ModelField(
        "nvidia.com/gpu",
        description="The name under which Kubernetes knows them; nvidia.com/gpu without it.",
    )


class TaintTable(Table):
    """A taint of a machine."""

    key: values.Key = ModelField(description="The key.")
    value: values.Value = ModelField("", description="The value; empty without it.")
    effect: values.Effect = ModelField(
        "NoSchedule",
        description="What it does to pods that do not tolerate it; NoSchedule without it.",
    )


class MachineTable(Table):
    """What nodes and pools have."""

    cpu: values.Cpu = ModelField(
        description="Processors that pods may have, a quantity of Kubernetes such as 3.92 or "
        "3920m.",
    )
    memory_bytes: values.Memory = ModelField(
        alias="memory",
        description="Memory that pods may have, a quantity of Kubernetes such as 15Gi.",
    )
    pods: values.Count = ModelField(
        PODS, description="How many pods it runs at most; 110 without it."
    )
    architecture: values.Architecture = ModelField(
        "amd64", description="As Kubernetes names it; amd64 without it."
    )
    group: values.Group = ModelField(
        "",
        description="The performance group that it belongs to, such as low or high-gpu.",
    )
    gpus: GpusTable = ModelField(
        _NOT_KNOWN, description="Its GPUs, all of one type; none without it."
    )
    labels: values.Labels = ModelField({}, description="What node selectors can ask for.")
    taints: list[TaintTable] = ModelField([], description="What its pods must tolerate.")
    price_usd_per_h: values.Price = ModelField(
        _NOT_KNOWN, description="US dollars for an hour of one machine; not known without it."
    )
    cpu_flags: values.Flags = ModelField(
        _NOT_KNOWN, description="How many features its processors name; not known without it."
    )


class _NodeName(Table):
    name: values.Name = ModelField(description="Its name in the cluster.")
    pool: values.Name = ModelField("", description="The pool that it was made of.")


class NodeTable(MachineTable, _NodeName):
    """A machine by itself."""


class _PoolName(Table):
    name: values.Name = ModelField(
        description="Its name; its nodes are called NAME-1, NAME-2 and so on."
    )
    count: values.Count = ModelField(description="How many nodes it has.")


class PoolTable(MachineTable, _PoolName):
    """Machines that are alike."""

    @model_validator(mode="after")
    def _check_names(self) -> t.Self:
        if not is_subdomain(f"{self.name}-{self.count}"):
            raise ValueError(f'"{self.name}-{self.count}" is too long for the name of a node')
        return self


class SpeedTable(Table):
    """How fast machines compute."""

    group: values.Group = ModelField(
        "",
        description="The performance group of the machines, or the name of one machine; all "
        "without it.",
    )
    model: values.Text = ModelField(
        "",
        description="The kind of model, as steps state it, such as random-forest; all without.",
    )
    operations_per_s: values.Rate = ModelField(
        description="Operations a second, in the unit in which steps state their operations."
    )


class ClusterTable(Table):
    """The whole file."""

    name: values.Text = ModelField("", description="What the cluster is called.")
    nodes: list[NodeTable] = ModelField([], description="Machines, each by itself.")
    pools: list[PoolTable] = ModelField([], description="Machines that are alike.")
    speeds: list[SpeedTable] = ModelField(
        [], description="How fast the machines compute, as far as that is known."
    )
    bandwidth_bytes_per_s: values.Rate = ModelField(
        BANDWIDTH_BYTES_PER_S,
        description="Bytes a second between any two machines; 125e6 without it.",
    )
    pod_start_s: values.Seconds = ModelField(
        0.0, description="Seconds that a pod takes to start; 0 without it."
    )


_ORDER = (
    *("description", "type", "propertyNames", "additionalProperties", "required"),
    *("exclusiveMinimum", "minimum", "maximum", "minLength", "pattern", "maxLength"),
)
_LEFT_OUT = ("$defs", "$ref", "default", "title")


def json_schema() -> dict[str, Json]:
    """Return the JSON schema (draft 2020-12) of the description of a cluster."""
    made = ClusterTable.model_json_schema()
    tables = {f"#/$defs/{name}": one for name, one in made["$defs"].items()}
    for table in (made, *tables.values()):
        del table["description"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cluster.yaml of Couler",
        **_plain(made, tables),
        "anyOf": [{"required": ["nodes"]}, {"required": ["pools"]}],
    }


def _plain(schema: Json, tables: dict[str, Json]) -> Json:
    """Return a schema with each table in its place, without what an editor does not need."""
    if isinstance(schema, list):
        return [_plain(one, tables) for one in schema]
    if not isinstance(schema, dict):
        return schema
    full = {**tables.get(schema.get("$ref", ""), {}), **schema}
    keys = sorted(
        (key for key in full if key not in _LEFT_OUT),
        key=lambda key: _ORDER.index(key) if key in _ORDER else len(_ORDER),
    )
    return {
        key: {name: _plain(one, tables) for name, one in full[key].items()}
        if key == "properties"
        else _plain(full[key], tables)
        for key in keys
    }
