"""A workflow under Argo's real controller that fails, is mended and restarted."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.family import Family, children_of, stop_children
from couler.backends.argo.observe import Observer
from couler.backends.argo.parts import has_runs
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.status_nodes import is_over
from couler.backends.argo.submission import read_objects
from couler.backends.argo.workflow_api import PART_LABEL
from couler.backends.base import Target
from couler.backends.remote import Json, Observation, RemoteRun, Restart, Submission
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Step, Workflow
from couler.ir.yaml_writer import dump_all
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
        text = dump_all(self._manifests(workflow, parameters))
        return self._done(workflow, self.argo.run(text))

    def submit(self, workflow: Workflow) -> RemoteRun:
        """Begin a run as `couler submit` does, with definitions that go with it."""
        self.workflow, self.name = workflow, f"{workflow.name}-{uuid.uuid4().hex[:6]}"
        artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
        with self.api() as api:
            place = ArgoRemote(api).submit(Submission(self.name, workflow, artifact, {}))
        return RemoteRun(self.name, workflow, place)

    def follow(self, run: RemoteRun) -> Observation:
        """Wait for the end of a run."""
        with self.api() as api:
            *_, last = ArgoRemote(api).follow(run)
        return last

    def order(self, workflow: Workflow, *again: str, **parameters: str) -> Restart:
        """What `couler retry` asks for."""
        artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
        return Restart(workflow, artifact, parameters, frozenset(again))

    def restart(
        self, *again: str, workflow: Workflow | None = None, **parameters: str
    ) -> list[str]:
        """Run some steps again; what is to be kept is known from the run before."""
        assert self.workflow is not None
        before, after = self.workflow, workflow or self.workflow
        run = RemoteRun(self.name, before, {"name": self.name})
        with self.api() as api:
            place = ArgoRemote(api).restart(run, self.order(after, *again, **parameters))
        assert place == run.place
        return self._done(after, self.argo.wait(self.name))

    def run_and_stop(
        self,
        workflow: Workflow,
        *,
        when: str,
        before: Callable[[], None] | None = None,
        stop: Callable[[ClusterApi], None] | None = None,
    ) -> None:
        """Begin a run, and stop it as soon as a step runs, as a cancel does or in another way."""
        name = f"{workflow.name}-{uuid.uuid4().hex[:6]}"
        *definitions, manifest = self._manifests(workflow, {})
        manifest["metadata"] = {"name": name}
        self.workflow, self.name = workflow, name
        with self.api() as api:
            for one in definitions:
                api.apply(one)
            api.create(manifest)
            until = time.monotonic() + argo_oracle.LIMIT_S
            while when not in self._written():
                assert time.monotonic() < until
                time.sleep(0.05)
            if before is not None:
                before()
            if stop is not None:
                stop(api)
            else:
                api.stop(name)
                stop_children(api, api.get(name))
        run = self.argo.wait(name)
        self._wait_for_children()
        self._done(workflow, run)

    def _wait_for_children(self) -> None:
        until = time.monotonic() + argo_oracle.LIMIT_S
        with self.api() as api:
            while not all(map(is_over, children_of(api, api.get(self.name)))):
                assert time.monotonic() < until
                time.sleep(0.1)

    @contextmanager
    def api(self) -> Iterator[ClusterApi]:
        """The cluster, as it is reached from here."""
        with RestClient("argo", self.argo.address, extra="argo") as client:
            yield ClusterApi(client, "default")

    @property
    def children(self) -> dict[str, Json]:
        """The Workflows of parts with runs of their own, by the names of these."""
        with self.api() as api:
            found = children_of(api, api.get(self.name))
        return {one["metadata"]["labels"][PART_LABEL]: one for one in found}

    def _manifests(self, workflow: Workflow, parameters: Mapping[str, str]) -> list[Json]:
        artifact = ArgoBackend().compile(resolve_defaults(workflow), Target())
        *definitions, last = read_objects(artifact)
        return [*definitions, with_parameters(last, parameters)]

    def _done(self, workflow: Workflow, run: argo_oracle.OracleRun) -> list[str]:
        self.workflow, self.name = workflow, run.name
        found: Json = run.workflow
        if has_runs(workflow):
            with self.api() as api:
                found = Family(api).get(run.name)
        seen = Observer(workflow).observe(found)
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
