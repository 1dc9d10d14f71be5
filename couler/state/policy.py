"""What the cache keeps: the seam between the engine and policies of admission and eviction."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from couler.state.records import Json

__all__ = ["AdmitAll", "CachePolicy", "Candidate", "Decision", "Entry"]


@dataclass(frozen=True, slots=True)
class Candidate:
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
    """

    key: str
    workflow: str
    step: str
    size_bytes: int
    cost_s: float
    run_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Outputs that the cache keeps.

    The first fields are those of the `Candidate` that it was.

    Attributes
    ----------
    outputs
        The outputs by name, as the engine writes them.
    created, last_used
        When it was made, and when it last stood for a step.
    hits
        How often it did.
    pinned
        Whether it stays until somebody unpins it.
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


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy makes of a candidate.

    Attributes
    ----------
    admit
        Whether to keep it.
    reason
        Why, in a few words; `couler status` shows it.
    evict
        Keys of entries to remove for it. Pinned ones stay all the same.
    """

    admit: bool
    reason: str
    evict: tuple[str, ...] = field(default=())


class CachePolicy(t.Protocol):
    """Decides what the cache keeps, each time that a step has made something."""

    def decide(self, candidate: Candidate, entries: Sequence[Entry]) -> Decision:
        """Decide about a candidate.

        Parameters
        ----------
        candidate
            What a step has made.
        entries
            All that the cache holds; read from the database when it is first looked at, so that a
            policy that does not look costs nothing.
        """


@dataclass(frozen=True, slots=True)
class AdmitAll:
    """Keep everything; `couler cache gc` removes what nobody uses.

    Examples
    --------
    >>> candidate = Candidate("0" * 64, "flow", "train", 10, 1.0, "r1", "train")
    >>> AdmitAll().decide(candidate, ()).admit
    True
    """

    def decide(self, candidate: Candidate, entries: Sequence[Entry]) -> Decision:
        """Admit a candidate."""
        return Decision(admit=True, reason="everything is kept")
