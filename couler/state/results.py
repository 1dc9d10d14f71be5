"""What a run tells while it runs and when it has ended, whatever its engine."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from couler.ir.paths import StepPath
from couler.state.records import StepStatus

RunEnd: t.TypeAlias = t.Literal["succeeded", "failed", "cancelled"]

EventKind: t.TypeAlias = t.Literal["started", "finished", "reused", "retrying", "suspended"]

SCHEMA_VERSION = 2
"""Version of the JSON that `RunResult.to_json` gives."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a step's instance.

    Attributes
    ----------
    kind
        `started` and `finished` as they say; a step that is skipped, omitted or taken from the
        cache ends without having started. `reused`: an earlier session of the run has ended it.
        `retrying`: an attempt failed and another follows. `suspended`: it waits for
        `couler resume`.
    path
        Place of the instance.
    run
        Name of the run.
    status
        How it ended; None before.
    message
        Why it failed or did not run, where there is something to say.
    log
        Where its output is being written.
    attempt
        Number of the attempt that starts, waits or has ended, over all sessions of the run; None
        for what is not tried: a whole, and what did not run.
    elapsed_s
        How long it took, where that is known better than by when it is told; None before it ends.
    """

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
    """How a step's instance ended.

    Attributes
    ----------
    status
        Its state.
    outputs
        Its outputs by name; files and directories as the path where they are kept.
    attempts
        How often it was tried, over all sessions of the run; 0 for what did not run, and for a
        foreach or loop as a whole.
    message
        Why it failed or did not run.
    exit_code
        Exit code of the last attempt's process.
    log
        What its process wrote, secrets masked.
    started, finished
        When, in UTC; `started` is None for what did not run.
    reused
        Whether an earlier session of the run has ended it.
    """

    status: StepStatus
    finished: datetime
    started: datetime | None = None
    outputs: Mapping[str, t.Any] = field(default_factory=dict)
    attempts: int = 0
    message: str | None = None
    exit_code: int | None = None
    log: Path | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes
    ----------
    run_id
        Name of the run.
    workflow
        Name of the workflow.
    status
        `cancelled` if it was interrupted.
    steps
        What ended, by the text of its path, in the order in which it ended.
    outputs
        Outputs of the workflow.
    folder
        Folder with the run's logs and its outputs that are files.
    started, finished
        When, in UTC.
    message
        Why the run failed, where no step tells it.
    notes
        What of the workflow has no effect in such a run, one sentence each.
    """

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
        }


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
