"""A workflow under Argo's real controller that fails, is mended and restarted."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import RemoteRun, Restart
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Step, Workflow
from couler.ir.yaml_writer import dump
from couler.rest.client import RestClient
from tests.corpus.build import sh
from tests.oracle.argo.cluster import with_parameters
from tests.support import argo_oracle


@dataclass
class Bench:
    """Runs a workflow, mends what fails, restarts it and tells which steps ran."""

    argo: argo_oracle.Session
    folder: Path
    states: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    workflow: Workflow | None = None
    name: str = ""
    status: str = ""
    run_outputs: Mapping[str, object] = field(default_factory=dict)

    def step(self, name: str, script: str = "echo done", *args: object, **fields: object) -> Step:
        """A step that leaves its name, and its first argument, where it is counted."""
        mark = f'echo "{name} $1" >> {self.folder}/ran'
        return sh(name, f"{mark}; {script}", *args, **fields)  # type: ignore[arg-type]  # any

    @property
    def mended(self) -> str:
        """A command that fails until `mend`."""
        return f"test -e {self.folder}/mended"

    def mend(self) -> None:
        (self.folder / "mended").touch()

    @property
    def ran(self) -> list[str]:
        """What ran since this was asked last, in alphabetical order."""
        lines = self._written().splitlines()
        (self.folder / "ran").unlink(missing_ok=True)
        return sorted(line.strip() for line in lines)

    def _written(self) -> str:
        file = self.folder / "ran"
        return file.read_text() if file.exists() else ""

    def run(self, workflow: Workflow, **parameters: str) -> list[str]:
        text = dump(self._manifest(workflow, parameters))
        return self._done(workflow, self.argo.run(text))

    def restart(
        self, *again: str, workflow: Workflow | None = None, **parameters: str
    ) -> list[str]:
        """Run some steps again; what is to be kept is known from the run before."""
        assert self.workflow is not None
        before, after = self.workflow, workflow or self.workflow
        run = RemoteRun(self.name, before, {"name": self.name})
        artifact = ArgoBackend().compile(resolve_defaults(after), Target())
        with RestClient("argo", self.argo.address, extra="argo") as client:
            remote = ArgoRemote(ClusterApi(client, "default"))
            place = remote.restart(run, Restart(after, artifact, parameters, frozenset(again)))
        assert place == run.place
        return self._done(after, self.argo.wait(self.name))

    def run_and_stop(
        self, workflow: Workflow, *, when: str, before: Callable[[], None] | None = None
    ) -> None:
        """Begin a run, and stop it as soon as a step runs."""
        name = f"{workflow.name}-{uuid.uuid4().hex[:6]}"
        manifest = self._manifest(workflow, {})
        manifest["metadata"] = {"name": name}
        self.workflow, self.name = workflow, name
        with RestClient("argo", self.argo.address, extra="argo") as client:
            api = ClusterApi(client, "default")
            api.create(manifest)
            until = time.monotonic() + 60
            while when not in self._written():
                assert time.monotonic() < until
                time.sleep(0.05)
            if before is not None:
                before()
            api.stop(name)
        self._done(workflow, self.argo.wait(name))

    def _manifest(self, workflow: Workflow, parameters: Mapping[str, str]) -> dict[str, object]:
        artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
        return with_parameters(yaml.safe_load(artifact.to_text()), parameters)  # type: ignore[no-any-return]  # JSON

    def _done(self, workflow: Workflow, run: argo_oracle.OracleRun) -> list[str]:
        self.workflow, self.name = workflow, run.name
        seen = Observer(workflow).observe(run.workflow)  # type: ignore[arg-type]  # JSON
        self.states = {str(one.path): one.status for one in seen.steps}
        self.status = seen.status
        self.outputs = {
            str(one.path): {
                name: given["text"] for name, given in one.outputs.items() if "text" in given
            }
            for one in seen.steps
        }
        self.run_outputs = dict(seen.outputs)
        return self.ran

    def ends(self, state: str) -> set[str]:
        return {path for path, found in self.states.items() if found == state}
