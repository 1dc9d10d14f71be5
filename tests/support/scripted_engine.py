"""An engine elsewhere that goes through what a script says; a third party's, found by entry point.

The file `script.json` of its folder has `stages`, which a run goes through, one after the other, as
it is followed, and `again`, those after a restart. With a number in a file `pace`, it goes on to
the next stage by being asked, too, after so many questions. A file `fault` makes it refuse
everything with that text, a file `refusal` restarts alone, `fixed` plans of such with other
parameters; a file `deaf` makes it pass over what it is to end. `calls.jsonl` has what was asked of
it. What it knows lies in files, so that processes share it. Its tests copy this file: it imports
nothing of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from couler.backends.base import NATIVE, Artifact, ArtifactFile, Capabilities, Target
from couler.backends.remote import (
    Connection,
    Observation,
    Observed,
    ObservedAttempt,
    RemoteRun,
    Restart,
    Submission,
)
from couler.config_files import Table
from couler.errors import EngineError, LostRunError, RefusedError
from couler.ir.diagnostics import Diagnostic
from couler.ir.features import Feature
from couler.ir.serialize import write_json
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow
from couler.rest.credentials import Credential

NAME = "scripted"

_POLL_S = 0.02
_BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class _Fields(Table):
    folder: str
    token: object = None


class ScriptedBackend:
    """Takes every workflow, and runs none."""

    name = NAME
    profiles = ("plain", "fancy")
    formats = ("json",)
    path_fields = ("folder",)

    def capabilities(self, target: Target) -> Capabilities:
        """Return what the engine can do; every feature has an entry."""
        return dict.fromkeys(Feature, NATIVE)

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Refuse nothing beyond features."""
        yield from ()

    def compile(self, workflow: Workflow, target: Target, *, format: str = "json") -> Artifact:
        """Return the workflow itself."""
        file = ArtifactFile("workflow.json", write_json(workflow))
        return Artifact(self.name, (file,), ("the claim data must exist",))

    def connect(self, connection: Connection, environment: Mapping[str, str]) -> Scripted:
        """Return the engine whose files are in the folder of the connection."""
        connection.read(_Fields)
        if "token" in connection.fields:
            Credential("the token", connection.fields["token"], environment).read()
        return Scripted(Path(connection.fields["folder"]))


class Scripted:
    """The engine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def submit(self, submission: Submission) -> Mapping[str, Any]:
        """Begin a run; once only."""
        self._called("submit", submission.run_id, parameters=dict(submission.parameters))
        if not self._file(submission.run_id).exists():
            self._write(submission.run_id, {"stage": 0, "stages": self._script()["stages"]})
        return {"object": f"scripted/{submission.run_id}"}

    def observe(self, run: RemoteRun) -> Observation:
        """Return the stage that the run is at."""
        self._called("observe", run.run_id)
        known = self._read(run.run_id)
        pace = self.folder / "pace"
        if pace.exists() and known.get("asked", 0) >= int(pace.read_text()):
            known = {**known, "stage": min(known["stage"] + 1, len(known["stages"]) - 1)}
        self._write(run.run_id, {**known, "asked": known.get("asked", 0) + 1})
        return _observation(known["stages"][known["stage"]])

    def follow(self, run: RemoteRun) -> Iterator[Observation]:
        """Go through the stages; where they end before the run does, wait for another's word."""
        self._called("follow", run.run_id)
        told = None
        while True:
            known = self._read(run.run_id)
            stage = known["stages"][known["stage"]]
            if stage.get("status") == "deleted":
                self.delete(run)
            elif stage != told:
                told = stage
                yield _observation(stage)
            if stage.get("status", "running") not in ("running", "deleted"):
                return
            if known["stage"] + 1 < len(known["stages"]):
                self._write(run.run_id, {**known, "stage": known["stage"] + 1})
            else:
                time.sleep(_POLL_S)

    def logs(
        self, run: RemoteRun, path: StepPath, *, attempt: int | None = None, follow: bool = False
    ) -> Iterator[str]:
        """Yield the lines of the file `logs/PATH` or `logs/PATH#ATTEMPT`, `/` written as `+`."""
        self._called("logs", run.run_id, path=str(path), attempt=attempt, follow=follow)
        name = str(path).replace("/", "+") + ("" if attempt is None else f"#{attempt}")
        file = self.folder / "logs" / name
        yield from file.read_text().splitlines() if file.exists() else ()

    def cancel(self, run: RemoteRun) -> None:
        """End the run as it stands."""
        self._called("cancel", run.run_id)
        if (self.folder / "deaf").exists():
            return
        known = self._read(run.run_id)
        stage = known["stages"][known["stage"]]
        if stage.get("status", "running") == "running":
            self._write(run.run_id, {"stage": 0, "stages": [{**stage, "status": "cancelled"}]})

    def restart(self, run: RemoteRun, restart: Restart) -> Mapping[str, Any]:
        """Go through the stages for a second time."""
        again = sorted(restart.again)
        self._called("restart", run.run_id, again=again, parameters=dict(restart.parameters))
        refusal = self.folder / "refusal"
        if refusal.exists():
            raise RefusedError(f"{NAME}: {refusal.read_text()}")
        self._write(run.run_id, {"stage": 0, "stages": self._script()["again"]})
        return {"object": f"scripted/{run.run_id}", "restarted": True}

    def check_restart(self, run: RemoteRun, restart: Restart) -> None:
        """Refuse parameters if a file `fixed` says why."""
        fixed = self.folder / "fixed"
        if fixed.exists():
            raise RefusedError(f"{NAME}: {fixed.read_text()}")

    def resume(
        self, run: RemoteRun, path: StepPath, entered: Mapping[str, str] | None = None
    ) -> None:
        """Take note of it."""
        self._called("resume", run.run_id, path=str(path), entered=dict(entered or {}))

    def delete(self, run: RemoteRun) -> None:
        """Forget the run."""
        self._called("delete", run.run_id)
        self._file(run.run_id).unlink(missing_ok=True)

    def _called(self, verb: str, run: str, **more: Any) -> None:
        with (self.folder / "calls.jsonl").open("a") as calls:
            calls.write(json.dumps({"call": verb, "run": run, **more}) + "\n")
        fault = self.folder / "fault"
        if fault.exists():
            raise EngineError(f"{NAME}: {fault.read_text().strip()}")

    def _script(self) -> dict[str, Any]:
        script: dict[str, Any] = json.loads((self.folder / "script.json").read_text())
        return script

    def _file(self, run: str) -> Path:
        return self.folder / f"{run}.run"

    def _read(self, run: str) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._file(run).read_text())
        except FileNotFoundError as error:
            raise LostRunError(f"{NAME} has no run {run}") from error
        return known

    def _write(self, run: str, known: Mapping[str, Any]) -> None:
        new = self._file(run).with_suffix(".new")
        new.write_text(json.dumps(known))
        new.replace(self._file(run))


def _observation(stage: Mapping[str, Any]) -> Observation:
    status = stage.get("status", "running")
    return Observation(
        status,
        tuple(_observed(step) for step in stage.get("steps", ())),
        outputs=stage.get("outputs", {}),
        message=stage.get("message"),
        started=_BEGAN,
        finished=None if status == "running" else _BEGAN + timedelta(seconds=9),
    )


def _observed(step: Mapping[str, Any]) -> Observed:
    status = step["status"]
    is_over = status in ("succeeded", "cached", "failed", "cancelled", "skipped", "omitted")
    ran = status not in ("skipped", "omitted", "waiting", "cached")
    attempts = step.get("attempts")
    if attempts is None and ran:
        attempts = [{"status": status if is_over else "running"}]
    return Observed(
        StepPath.parse(step["path"]),
        status,
        started=_BEGAN if ran else None,
        finished=_BEGAN + timedelta(seconds=2) if is_over else None,
        attempts=tuple(
            ObservedAttempt(
                number,
                one["status"],
                started=_BEGAN + timedelta(seconds=number - 1),
                finished=None if one["status"] == "running" else _BEGAN + timedelta(seconds=number),
                exit_code=one.get("exit_code"),
                message=one.get("message"),
                node=one.get("node"),
            )
            for number, one in enumerate(attempts or (), 1)
        ),
        message=step.get("message"),
        exit_code=step.get("exit_code"),
        outputs=step.get("outputs", {}),
    )
