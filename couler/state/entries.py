"""What the cache keeps and is offered, as values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.state.records import Json

if t.TYPE_CHECKING:
    from datetime import datetime

__all__ = ["Entry", "Offer"]


@dataclass(frozen=True, slots=True)
class Offer:
    """Outputs that a step has just made and that the cache could keep.

    Attributes
    ----------
    key
        Fingerprint of what the step ran on, 64 hex digits.
    workflow, step
        Names of the workflow and the step.
    size_bytes
        What its outputs take, files included.
    cost_s
        What it took to make them, in seconds.
    run_id, path
        The instance that made them.
    place
        The path without items and rounds.
    outputs
        The outputs by name, as the engine writes them.
    digests
        The objects of the store that they need.
    made
        When.
    useless
        Which admission an entry of the key was that was found and could not be used; None if there
        was none.
    """

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
    """Outputs that the cache keeps.

    The first fields are those of the `Offer` that it was.

    Attributes
    ----------
    created, last_used
        When it was made, and when it last stood for a step.
    hits
        How often it did.
    pinned
        Whether it stays until somebody unpins it.
    admitted, used
        When it was admitted, and last admitted or hit: in offers to the cache and hits of it, of
        all runs together.
    superseded
        How many others of its path were used since.
    credit
        What the policy told of it at its last use.
    """

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
