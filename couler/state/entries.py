"""What the cache keeps and is offered, as values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.state.records import Json

if t.TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Offer:
    """Outputs that a step has just made and that the cache could keep."""

    key: str
    workflow: str
    step: str
    size_bytes: int
    cost_s: float
    run_id: str
    path: str
    place: str
    outputs: t.Mapping[str, Json]
    digests: tuple[str, ...]
    made: datetime
    useless: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Outputs that the cache keeps."""

    key: str
    workflow: str
    step: str
    size_bytes: int
    cost_s: float
    run_id: str
    path: str
    outputs: t.Mapping[str, Json]
    created: datetime
    last_used: datetime
    hits: int = 0
    pinned: bool = False
    place: str = ""
    admitted: int = 0
    used: int = 0
    superseded: int = 0
    credit: float = 0.0
