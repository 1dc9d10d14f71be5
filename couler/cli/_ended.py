"""How a run ended, wherever it ran."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from pathlib import Path

from couler.stages.running import StepResult


class Ended(t.Protocol):
    """How a run ended: `RunResult`, but that a run elsewhere has no folder on this machine."""

    @property
    def run_id(self) -> str:
        """Name of the run."""
        ...

    @property
    def status(self) -> t.Literal["succeeded", "failed", "cancelled"]:
        """How it ended."""
        ...

    @property
    def steps(self) -> Mapping[str, StepResult]:
        """What ended, by the text of its path, in the order in which it ended."""
        ...

    @property
    def outputs(self) -> Mapping[str, t.Any]:
        """Outputs of the workflow."""
        ...

    @property
    def folder(self) -> Path | None:
        """Folder with the run's logs and its outputs that are files."""
        ...

    @property
    def message(self) -> str | None:
        """Why the run failed, where no step tells it."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What of the workflow had no effect in this run, one sentence each."""
        ...

    def to_json(self) -> dict[str, t.Any]:
        """Return it as JSON, with its `schema_version`."""
        ...
