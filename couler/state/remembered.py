"""What is remembered of outputs that the cache had no room for: values and digests, no files."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.entries import Offer
from couler.state.holds import portions
from couler.state.records import Json
from couler.state.tables import cache_entries, cache_gone

if t.TYPE_CHECKING:
    from datetime import datetime

MOST_LETTERS = 16 * 1024
"""How long the text of outputs may be that are remembered."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """Outputs that were evicted or refused; the fields are those of an `Entry`."""

    key: str
    workflow: str
    path: str
    place: str
    run_id: str
    cost_s: float
    outputs: Mapping[str, Json]
    created: datetime


def recall(database: Database, key: str) -> Remembered | None:
    """Return what is remembered of a key, None if nothing is."""
    table = cache_gone.c
    names = Remembered.__dataclass_fields__
    query = sa.select(*(table[name] for name in names))
    with database.read() as connection:
        wanted = table.key == key, table.outputs.is_not(None)
        row = connection.execute(query.where(*wanted)).mappings().first()
    return None if row is None else Remembered(**row)


def forget_outputs(connection: sa.Connection, wanted: sa.ColumnElement[bool]) -> None:
    """Forget outputs that are remembered, but not that their keys were there."""
    nothing = dict.fromkeys(("outputs", "run_id", "created"))
    connection.execute(sa.update(cache_gone).where(wanted).values(**nothing))


def of_offer(offer: Offer) -> dict[str, object]:
    """Return the columns of what is remembered of an offer."""
    return _columns(offer.place, offer.outputs, offer.run_id, offer.made)


def read_made(connection: sa.Connection, keys: Collection[str]) -> dict[str, Mapping[str, object]]:
    """Return the columns of what is remembered of entries, by key."""
    table = cache_entries.c
    query = sa.select(table.key, table.place, table.outputs, table.run_id, table.created)
    return {
        row.key: _columns(row.place, row.outputs, row.run_id, row.created)
        for some in portions(keys)
        for row in connection.execute(query.where(table.key.in_(some)))
    }


def _columns(place: str, outputs: Json, run_id: str, created: datetime) -> dict[str, object]:
    is_short = len(json.dumps(outputs, default=dict)) <= MOST_LETTERS
    return {
        "place": place,
        "outputs": outputs if is_short else None,
        "run_id": run_id if is_short else None,
        "created": created if is_short else None,
    }
