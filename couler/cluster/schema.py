"""The JSON schema of `cluster.yaml`, of the same keys that its reader knows."""

from __future__ import annotations

import typing as t

from couler.cluster.fields import FILE, Field, Rows, Table, Texts
from couler.cluster.values import Kind

__all__ = ["json_schema"]

Json: t.TypeAlias = t.Any


def json_schema() -> dict[str, Json]:
    """Return the JSON schema (draft 2020-12) of the description of a cluster."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cluster.yaml of Couler",
        **_schema(FILE),
        "anyOf": [{"required": ["nodes"]}, {"required": ["pools"]}],
    }


def _schema(shape: Kind | Table | Rows | Texts) -> dict[str, Json]:
    match shape:
        case Kind():
            return dict(shape.schema)
        case Table():
            required = {"required": list(shape.required)} if shape.required else {}
            return {
                "type": "object",
                "additionalProperties": False,
                **required,
                "properties": {name: _property(field) for name, field in shape.fields.items()},
            }
        case Rows():
            return {"type": "array", "items": _schema(shape.table)}
        case Texts():
            return {
                "type": "object",
                "propertyNames": _schema(shape.key),
                "additionalProperties": _schema(shape.value),
            }
    t.assert_never(shape)


def _property(field: Field) -> dict[str, Json]:
    return {"description": field.description, **_schema(field.shape)}
