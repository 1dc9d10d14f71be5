"""The keys of `cluster.yaml`: which there are, what they mean, and which must be given."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from couler.cluster import values
from couler.cluster.values import Kind

Shape: t.TypeAlias = "Kind | Table | Rows | Texts"


@dataclass(frozen=True, slots=True)
class Field:
    """A key."""

    shape: Shape
    description: str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with some keys."""

    fields: Mapping[str, Field]

    @property
    def required(self) -> tuple[str, ...]:
        """The keys that must be given."""
        return tuple(name for name, field in self.fields.items() if field.is_required)


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of tables with the same keys."""

    table: Table


@dataclass(frozen=True, slots=True)
class Texts:
    """A table with keys of the user's choice."""

    key: Kind
    value: Kind


GPUS = Table(
    {
        "type": Field(
            values.TEXT,
            "The model, as the label of the nodes names it that steps with a GPU type select by "
            "(nvidia.com/gpu.product); not known without it.",
        ),
        "count": Field(values.COUNT, "How many; 1 without it."),
        "memory": Field(values.MEMORY, "Memory of each, a quantity of Kubernetes such as 40Gi."),
        "resource": Field(
            values.RESOURCE,
            "The name under which Kubernetes knows them; nvidia.com/gpu without it.",
        ),
    }
)

TAINT = Table(
    {
        "key": Field(values.KEY, "The key.", is_required=True),
        "value": Field(values.VALUE, "The value; empty without it."),
        "effect": Field(
            values.EFFECT, "What it does to pods that do not tolerate it; NoSchedule without it."
        ),
    }
)

_MACHINE = {
    "cpu": Field(
        values.CPU,
        "Processors that pods may have, a quantity of Kubernetes such as 3.92 or 3920m.",
        is_required=True,
    ),
    "memory": Field(
        values.MEMORY,
        "Memory that pods may have, a quantity of Kubernetes such as 15Gi.",
        is_required=True,
    ),
    "pods": Field(values.COUNT, "How many pods it runs at most; 110 without it."),
    "architecture": Field(values.ARCHITECTURE, "As Kubernetes names it; amd64 without it."),
    "group": Field(
        values.GROUP, "The performance group that it belongs to, such as low or high-gpu."
    ),
    "gpus": Field(GPUS, "Its GPUs, all of one type; none without it."),
    "labels": Field(Texts(values.KEY, values.VALUE), "What node selectors can ask for."),
    "taints": Field(Rows(TAINT), "What its pods must tolerate."),
    "price_usd_per_h": Field(
        values.PRICE, "US dollars for an hour of one machine; not known without it."
    ),
    "cpu_flags": Field(
        values.FLAGS, "How many features its processors name; not known without it."
    ),
}

NODE = Table(
    {
        "name": Field(values.NAME, "Its name in the cluster.", is_required=True),
        "pool": Field(values.NAME, "The pool that it was made of."),
        **_MACHINE,
    }
)

POOL = Table(
    {
        "name": Field(
            values.NAME,
            "Its name; its nodes are called NAME-1, NAME-2 and so on.",
            is_required=True,
        ),
        "count": Field(values.COUNT, "How many nodes it has.", is_required=True),
        **_MACHINE,
    }
)

SPEED = Table(
    {
        "group": Field(
            values.GROUP,
            "The performance group of the machines, or the name of one machine; all without it.",
        ),
        "model": Field(
            values.TEXT, "The kind of model, as steps state it, such as random-forest; all without."
        ),
        "operations_per_s": Field(
            values.RATE,
            "Operations a second, in the unit in which steps state their operations.",
            is_required=True,
        ),
    }
)

FILE = Table(
    {
        "name": Field(values.TEXT, "What the cluster is called."),
        "nodes": Field(Rows(NODE), "Machines, each by itself."),
        "pools": Field(Rows(POOL), "Machines that are alike."),
        "speeds": Field(Rows(SPEED), "How fast the machines compute, as far as that is known."),
        "bandwidth_bytes_per_s": Field(
            values.RATE, "Bytes a second between any two machines; 125e6 without it."
        ),
        "pod_start_s": Field(values.SECONDS, "Seconds that a pod takes to start; 0 without it."),
    }
)
