"""An engine elsewhere that a test tells what to say; real records in a real database."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from couler.backends.base import Artifact, ArtifactFile
from couler.backends.remote import (
    Connection,
    Observation,
    Remote,
    RemoteRun,
    Restart,
    Submission,
)
from couler.control import connecting
from couler.control.submission import Order
from couler.ir.serialize import write_json
from couler.ir.walk import StepPath
from couler.ir.workflow import Container, Parameter, Step, Workflow
from couler.state.database import Database, open_database
from couler.state.home import Home
from tests.support.argo_cluster import emulated_cluster
from tests.support.shared_cache import Place


@dataclass
class ToldRemote:
    """Answers with what it is told; keeps what it is asked."""

    faults: list[BaseException | None] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    lines: dict[str, list[str] | Exception] = field(default_factory=dict)
    submitted: list[Submission] = field(default_factory=list)
    restarted: list[Restart] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    attempts: list[int | None] = field(default_factory=list)
    """Those whose logs it was asked for."""
    keeps_place: bool = False
    """Whether a restart is in the same object, as Argo's are."""

    def _asked(self, verb: str) -> None:
        self.asked.append(verb)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault

    def submit(self, submission: Submission) -> Mapping[str, t.Any]:
        self.submitted.append(submission)
        self._asked("submit")
        return {"name": submission.run_id}

    def observe(self, run: RemoteRun) -> Observation:
        self._asked("observe")
        return self.observations.pop(0) if len(self.observations) > 1 else self.observations[0]

    def follow(self, run: RemoteRun) -> Iterator[Observation]:
        self._asked("follow")
        while True:
            observation = self.observations.pop(0)
            yield observation
            if observation.status != "running":
                return

    def logs(
        self, run: RemoteRun, path: StepPath, *, attempt: int | None = None, follow: bool = False
    ) -> Iterator[str]:
        self._asked("logs")
        self.attempts.append(attempt)
        lines = self.lines.get(str(path), [])
        if isinstance(lines, Exception):
            raise lines
        yield from lines

    def cancel(self, run: RemoteRun) -> None:
        self._asked("cancel")

    def restart(self, run: RemoteRun, restart: Restart) -> Mapping[str, t.Any]:
        self.restarted.append(restart)
        self._asked("restart")
        return run.place if self.keeps_place else {"name": run.run_id, "restarts": 1}

    def resume(
        self, run: RemoteRun, path: StepPath, entered: Mapping[str, str] | None = None
    ) -> None:
        self._asked("resume")

    def delete(self, run: RemoteRun) -> None:
        self._asked("delete")


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> ToldRemote:
    """Return the engine that every connection leads to."""
    told = ToldRemote()
    assert isinstance(told, Remote)

    class Backend:
        def connect(self, connection: Connection, environment: Mapping[str, str]) -> Remote:
            return told

    monkeypatch.setattr(connecting, "get_backend", lambda name: Backend())
    return told


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def database(home: Home) -> Iterator[Database]:
    with open_database(home.database_url) as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A cluster and the repository of its files."""
    folder = tmp_path / "repository"
    folder.mkdir()
    with emulated_cluster(tmp_path) as cluster:
        yield Place(cluster, folder)


TRUE = Container(image="alpine:3", command=("true",))

WORKFLOW = Workflow(
    name="Fit_2",
    parameters=(Parameter(name="depth", type="int", default=3),),
    steps=(
        Step(name="fit", action=TRUE),
        Step(
            name="tell", action=Container(image="alpine:3", command=("true",)), depends_on=("fit",)
        ),
    ),
)


def order(name: str | None = None, workflow: Workflow = WORKFLOW, **parameters: object) -> Order:
    """Return an order of a small workflow."""
    artifact = Artifact("told", (ArtifactFile("workflow.json", write_json(workflow)),))
    return Order(workflow, artifact, Connection("told"), parameters, name)
