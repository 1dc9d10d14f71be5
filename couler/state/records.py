"""What is known of runs, as values: one class for each table that others read.

The fields have the names of the columns. Times are aware and in UTC; JSON columns hold plain
JSON values (dict, list, str, int, float, bool, None).
"""

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

StepStatus: t.TypeAlias = t.Literal["succeeded", "cached", "failed", "skipped", "omitted"]
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
    """A run of a workflow, over all sessions that worked on it.

    Attributes
    ----------
    id
        Name of the run: letters, digits, `-`, `_` and `.`.
    workflow
        Name of the workflow.
    workflow_digest
        SHA-256 of the workflow's IR, 64 hex digits: that of the latest session.
    engine
        Name of the backend that runs it.
    created
        When it was asked for.
    status
        How it stands.
    parameters
        Values of the workflow's parameters by name.
    logical_date
        The date that the run stands for, as its steps read it.
    started, finished
        When the first session began, and when the run ended.
    message
        Why it failed, where no step tells it.
    outputs
        Outputs of the workflow by name, once it succeeded.
    folder
        Folder with logs and files on `host`; None for engines that keep none here.
    host
        Name of the machine whose process runs it or submitted it.
    program
        The file that defines the workflow; None for one that came from elsewhere.
    target
        How its engine is reached, if that is elsewhere, without secrets; None for this machine.
    place
        Where its engine has it; None for this machine, and until the engine has taken it.
    """

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
    """One engine process that worked on a run.

    Attributes
    ----------
    run_id
        The run.
    number
        Counts from 1 within the run.
    pid, host
        The process.
    started, finished
        When it began and ended; `finished` is None while it works, and after it was killed.
    status
        How it ended; "refused" if the engine did not take the run, or did not take it up again.
    options
        What the run was started or resumed with, such as the number of jobs.
    workflow_digest
        The workflow that it ran: a resumed run may have a changed one.
    seen
        When it last told that it goes on; None if it has not yet.
    """

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
    """How an instance of a step ended.

    Attributes
    ----------
    path
        Text of its `StepPath`, such as ``train[2]/fit@1``.
    name
        Name of the step.
    status
        How it ended.
    finished
        When.
    session, ordinal
        Which session recorded it, and its place in the order in which steps ended there.
    item
        Indices of the items of the maps that it is in, from the outside in; None outside maps.
    key
        Fingerprint of what it ran on, 64 hex digits; None if nothing may be reused.
    outputs
        Its outputs by name.
    started
        When; None for what did not run.
    attempts
        How often it was tried.
    message
        Why it failed or did not run.
    exit_code
        Exit code of the last attempt's process.
    log
        Where the log of the last attempt is.
    source_run
        The run whose outputs were taken over, for a step that is `cached`.
    """

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
    """One try of a step.

    Attributes
    ----------
    path
        Text of the `StepPath` of the instance.
    number
        Counts from 1 within the run, over all sessions.
    session
        Which session tried it.
    status
        How it stands.
    started, finished
        When.
    exit_code
        Exit code of its process; negative for a signal.
    message
        Why it failed.
    pid
        Its process, the leader of a process group; None before it is spawned.
    cpu_s
        CPU time of the process and its children, in seconds.
    peak_bytes
        Largest resident memory of one of its processes, in bytes.
    log
        Where what it wrote is.
    processes
        When processes of it began that did not begin with it, those of other containers among
        them, in seconds since 1970, by their numbers; None for none.
    log_from
        How long the log was when it began, in bytes; None for the first attempt.
    node
        Name of the machine that it ran on; None if its engine does not tell.
    """

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
    """What the cache did for a step, and why.

    Attributes
    ----------
    path
        Text of the `StepPath` of the instance.
    key
        Its fingerprint, 64 hex digits.
    decision
        What was done.
    reason
        Why, in a sentence.
    at
        When.
    """

    path: str
    key: str
    decision: DecisionKind
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Signal:
    """Something asked of a running engine from outside.

    Attributes
    ----------
    path
        Text of the `StepPath` that it is about.
    kind
        What is asked: `resume` lets a suspended step go on.
    created
        When it was asked.
    entered
        Texts that a person gives with it, by name.
    """

    path: str
    kind: SignalKind
    created: datetime
    entered: Mapping[str, str] | None = None
