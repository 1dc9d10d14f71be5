"""Outputs as the database holds them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.ir.evaluation.values import Gathered, Json, Outputs, Single
from couler.ir.values import ValueType


def write_outputs(outputs: Outputs) -> dict[str, Json]:
    """Return outputs as the database holds them."""
    return {
        name: [_write_item(item) for item in stored.items]
        if isinstance(stored, Gathered)
        else _write_item(stored)
        for name, stored in outputs.items()
    }


def read_outputs(tree: Mapping[str, Json]) -> Outputs:
    """Return outputs from what the database holds."""
    return {
        name: Gathered(tuple(None if item is None else _read_item(item) for item in stored))
        if isinstance(stored, list)
        else _read_item(stored)
        for name, stored in tree.items()
    }


def _write_item(item: Single | None) -> Json:
    return None if item is None else {"text": item.text, "type": item.type}


def _read_item(item: Json) -> Single:
    match item:
        case {"text": str(text), "type": str(value_type)} if value_type in _TYPES:
            return Single(text, t.cast("ValueType", value_type))
    raise ValueError(f"no output of a step: {item!r:.100}")


_TYPES = t.get_args(ValueType)


def singles(outputs: Outputs) -> Iterator[Single]:
    """Yield every single value among outputs; what a failed item did not give is left out."""
    for stored in outputs.values():
        for item in stored.items if isinstance(stored, Gathered) else (stored,):
            if item is not None:
                yield item
