"""What is known of runs, as values: one class for each table that others read."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

RunStatus: t.TypeAlias = t.Literal["running", "succeeded", "failed", "cancelled"]
"""How a run stands. A dead engine leaves `running` behind: see `couler.state.shown_status`."""

SessionStatus: t.TypeAlias = t.Literal[
    "running", "succeeded", "failed", "cancelled", "interrupted", "refused"
]
"""How an engine process ended; `interrupted` is written by its successor, where it was killed."""

StepStatus: t.TypeAlias = t.Literal[
    "succeeded", "cached", "failed", "cancelled", "skipped", "omitted"
]
"""How an instance of a step ended."""

AttemptStatus: t.TypeAlias = t.Literal[
    "running", "succeeded", "failed", "error", "cancelled", "interrupted"
]
"""How an attempt stands: `failed` has an exit code, `error` could not run or was lost."""

DecisionKind: t.TypeAlias = t.Literal["hit", "passed", "miss", "stored", "rejected", "evicted"]
"""What the cache did; `passed`: nothing was kept for a step, and nothing that runs reads it."""

SignalKind: t.TypeAlias = t.Literal["resume"]
"""What can be asked of a running engine."""

Json: t.TypeAlias = t.Any
"""A JSON value; the recursive type would be checked nowhere and get in the way of each reader."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run of a workflow, over all sessions that worked on it."""

    id: str
    workflow: str
    workflow_digest: str
    engine: str
    created: datetime
    status: RunStatus = "running"
    parameters: Mapping[str, Json] = field(default_factory=dict)
    logical_date: str | None = None
    started: datetime | None = None
    finished: datetime | None = None
    message: str | None = None
    outputs: Mapping[str, Json] = field(default_factory=dict)
    folder: str | None = None
    host: str | None = None
    program: str | None = None
    target: Mapping[str, Json] | None = None
    place: Mapping[str, Json] | None = None


class Standing(t.NamedTuple):
    """How a run stands: what was decided on it holds while it does."""

    status: RunStatus
    session: int
    """Number of its last session; 0 for none."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One engine process that worked on a run."""

    run_id: str
    number: int
    pid: int
    host: str
    started: datetime
    workflow_digest: str
    finished: datetime | None = None
    status: SessionStatus = "running"
    options: Mapping[str, Json] = field(default_factory=dict)
    seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """How an instance of a step ended."""

    path: str
    name: str
    status: StepStatus
    finished: datetime
    session: int
    ordinal: int
    item: tuple[int, ...] | None = None
    key: str | None = None
    outputs: Mapping[str, Json] = field(default_factory=dict)
    started: datetime | None = None
    attempts: int = 0
    message: str | None = None
    exit_code: int | None = None
    log: str | None = None
    source_run: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One try of a step."""

    path: str
    number: int
    session: int
    started: datetime
    status: AttemptStatus = "running"
    finished: datetime | None = None
    exit_code: int | None = None
    message: str | None = None
    pid: int | None = None
    cpu_s: float | None = None
    peak_bytes: int | None = None
    log: str | None = None
    processes: Mapping[str, float] | None = None
    log_from: int | None = None
    node: str | None = None

    def begun(self) -> dict[int, datetime]:
        """Return when its processes began, by their numbers; all of them lead sessions."""
        found = {} if self.pid is None else {self.pid: self.started}
        for pid, at in (self.processes or {}).items():
            found[int(pid)] = datetime.fromtimestamp(at, UTC)
        return found


@dataclass(frozen=True, slots=True)
class CacheDecision:
    """What the cache did for a step, and why."""

    path: str
    key: str
    decision: DecisionKind
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Signal:
    """Something asked of a running engine from outside."""

    path: str
    kind: SignalKind
    created: datetime
    entered: Mapping[str, str] | None = None
