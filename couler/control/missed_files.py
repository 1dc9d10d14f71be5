"""Files of cached steps that were removed before a run could read them, and the way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from couler.backends.registry import get_backend
from couler.backends.shared_entries import KeepsEntries, SharedEntries
from couler.control.connecting import recorded_connection
from couler.control.failing import failed_by_themselves, match_of
from couler.control.past import WELL
from couler.errors import ConfigurationError, EngineError
from couler.state.records import Json, RunRecord, StepRecord

_NO_FILE = "NoSuchKeyErr"
"""What the failure of a reader is recognised as."""


@dataclass(frozen=True, slots=True)
class MissedFiles:
    """Files that steps of a run took for there, and which were not."""

    entries: SharedEntries
    locations: frozenset[str]
    producers: tuple[str, ...]
    readers: frozenset[str]


def find_missed(
    run: RunRecord, steps: Iterable[StepRecord], environment: Mapping[str, str]
) -> MissedFiles | None:
    """Return what steps of a failed run have missed of cached steps; None if that is not known."""
    steps = tuple(steps)
    readers = frozenset(
        step.path
        for step in failed_by_themselves(steps)
        if (match := match_of(step, run.engine)) is not None and match.pattern.name == _NO_FILE
    )
    backend: object = get_backend(run.engine) if readers else None
    if not isinstance(backend, KeepsEntries) or run.place is None:
        return None
    try:
        entries = backend.entries(recorded_connection(run), environment)
        locations = entries.missed(run.place)
    except (ConfigurationError, EngineError):
        return None  # the failure is told as it is
    producers = tuple(
        step.path
        for step in steps
        if step.status in WELL and any(_is_at(one, locations) for one in step.outputs.values())
    )
    return MissedFiles(entries, locations, producers, readers) if producers else None


def _is_at(output: Json, locations: frozenset[str]) -> bool:
    return isinstance(output, Mapping) and output.get("text") in locations
