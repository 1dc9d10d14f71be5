"""What a run tells while it runs and when it has ended, whatever its engine."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from couler.ir.source_map import NO_CHANGE, HasStatus, SourceMap
from couler.ir.walk import StepPath
from couler.state.records import StepStatus

RunEnd: t.TypeAlias = t.Literal["succeeded", "failed", "cancelled"]

EventKind: t.TypeAlias = t.Literal[
    "started", "finished", "reused", "retrying", "suspended", "evicted", "warned"
]

SCHEMA_VERSION = 2
"""Version of the JSON that `RunResult.to_json` gives."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a step's instance."""

    kind: EventKind
    path: StepPath
    run: str
    status: StepStatus | None = None
    message: str | None = None
    log: Path | None = None
    attempt: int | None = None
    elapsed_s: float | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step's instance ended."""

    status: StepStatus
    finished: datetime
    started: datetime | None = None
    outputs: Mapping[str, t.Any] = field(default_factory=dict)
    attempts: int = 0
    message: str | None = None
    exit_code: int | None = None
    log: Path | None = None
    reused: bool = False


class StepResults(Mapping[str, StepResult]):
    """How instances ended, by the texts of their paths, in the order in which they ended."""

    def __init__(
        self, ends: Mapping[str, StepResult], source_map: SourceMap, finished: datetime
    ) -> None:
        self._ends, self._source_map, self._finished = ends, source_map, finished

    def __getitem__(self, path: str) -> StepResult:
        own = self._ends.get(path)
        if own is not None:
            return own
        there = self._source_map.look_up(path, self._ends)
        if there is not None:
            return there
        why = self._source_map.removed.get(path)
        if why is None:
            raise KeyError(path)
        return StepResult(status="skipped", finished=self._finished, message=why)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ends)

    def __len__(self) -> int:
        return len(self._ends)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self._ends)!r})"


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    run_id: str
    workflow: str
    status: RunEnd
    steps: Mapping[str, StepResult]
    outputs: Mapping[str, t.Any]
    folder: Path
    started: datetime
    finished: datetime
    message: str | None = None
    notes: tuple[str, ...] = ()
    source_map: SourceMap = NO_CHANGE
    is_lost: bool = False
    """The engine has it no more, so nothing can be retried."""

    def to_json(self) -> dict[str, t.Any]:
        """Return the result as JSON: times in ISO 8601, paths as text."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run_id,
            "workflow": self.workflow,
            "status": self.status,
            "message": self.message,
            "started": self.started.isoformat(),
            "finished": self.finished.isoformat(),
            "folder": str(self.folder),
            "outputs": dict(self.outputs),
            "notes": list(self.notes),
            "steps": [_step_json(path, step) for path, step in self.steps.items()],
            "source_map": source_map_json(self.source_map, self.steps),
        }


def source_map_json(
    source_map: SourceMap, ends: Mapping[str, HasStatus], default: str | None = None
) -> list[dict[str, t.Any]]:
    """As JSON how the steps of a program stand that have another place in the run, or none."""
    if not source_map:
        return []
    found: list[dict[str, t.Any]] = []
    for path, places in source_map.steps.items():
        end = source_map.look_up(path, ends)
        is_one = len(places) == 1
        status = (default if is_one else None) if end is None else end.status
        found.append({"path": path, "steps": list(places), "status": status, "reason": None})
    for path, why in source_map.removed.items():
        found.append({"path": path, "steps": [], "status": "skipped", "reason": why})
    return found


def _step_json(text: str, step: StepResult) -> dict[str, t.Any]:
    path = StepPath.parse(text)
    return {
        "path": text,
        "name": path[-1].name,
        "item": path[-1].item,
        "round": path[-1].round,
        "status": step.status,
        "message": step.message,
        "attempts": step.attempts,
        "exit_code": step.exit_code,
        "started": None if step.started is None else step.started.isoformat(),
        "finished": step.finished.isoformat(),
        "log": None if step.log is None else str(step.log),
        "outputs": dict(step.outputs),
        "reused": step.reused,
    }
