"""Argo Workflows itself as the judge of manifests: its linter, its controller, its executor.

`lint` is ``argo lint --offline``. `run` runs a manifest to its end: the controller and the executor
are Argo's own programs, built from its module; the API server, the kubelet and the store of
artifacts are emulated. Every container is a process of this machine, with files of its own.

What the emulation leaves out:

- Images: all containers see the programs of this machine. Without a command the entry point is
  looked up in `images`, never in a registry.
- Plugins, resources of kinds that are not stated, volumes other than ``emptyDir``, ``secret``,
  ``configMap`` and claims. The agent that sends requests is not started again if it fails.
- Users, resource limits, probes, scheduling, ``kubectl exec`` but for signals.
- The checks of the API server: schemas, sizes, permissions, admission.
- Artifacts of more than 16 MiB.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from couler.backends.argo.workflow_api import PARENT_LABEL
from tests.fakes.kubernetes.faults import Faults
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.server import Ending
from tests.fakes.kubernetes.store import PODS, SECRETS, WORKFLOWS, Json, Resource
from tests.oracle.argo import bucket
from tests.oracle.argo.build import BuildError, build_obstacle, obstacle, programs
from tests.oracle.argo.cluster import (
    NAMESPACE,
    Cluster,
    OracleError,
    OracleTimeoutError,
    read_objects,
    to_workflow,
    with_parameters,
)
from tests.oracle.argo.result import OracleNode, OraclePod, OracleRun, read_run

__all__ = [
    "LIMIT_S",
    "BuildError",
    "OracleError",
    "OracleNode",
    "OraclePod",
    "OracleRun",
    "OracleTimeoutError",
    "Resource",
    "Session",
    "Verdict",
    "available",
    "lint",
    "lint_available",
    "run",
    "session",
]

LIMIT_S = 900.0
"""How long a run may take, and what else is waited for: a guard against what hangs, no measure.

The machine may be busy, or stand still for a minute or two.
"""
PYTHON_VARIABLE = "COULER_ORACLE_PYTHON"
"""Names the interpreter that containers find as ``python``; else it is the one of the tests."""

_GRACE_S = 3600
"""The time of grace of pods that state none, in place of 30 s.

So long after a pod the controller kills what has its name. Runs that are restarted here do not wait
for that, and on a busy machine a step may still run by then.
"""
_SCHEDULED = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Verdict:
    """What the linter says of a file."""

    file: Path
    ok: bool
    errors: tuple[str, ...]


def available() -> str | None:
    """Why the oracle cannot be used here, or None. The first use builds it, which takes minutes."""
    return obstacle()


def lint_available() -> str | None:
    """Why `lint` cannot be used here, or None; it needs less than `run`."""
    return build_obstacle()


def lint(
    paths: Sequence[Path], *, alone: bool = False, others: Sequence[Path] = ()
) -> list[Verdict]:
    """Judge manifests as ``argo lint --offline`` does.

    Parameters
    ----------
    paths
        The files to judge; a ``templateRef`` may name templates of any of them.
    alone
        Judge each file by itself, as if the rest of `paths` was not there.
    others
        Files that are not judged, but whose templates may be named.

    Raises
    ------
    OracleError
        The linter itself fails.
    """
    options = ["-each"] * alone + [word for other in others for word in ("-with", str(other))]
    # A command line takes some thousands of names; files that form one set must be in one.
    size = 1000 if alone else max(1, len(paths))
    verdicts: list[Verdict] = []
    for start in range(0, len(paths), size):
        group = paths[start : start + size]
        command = [str(programs() / "lint"), *options, *map(str, group)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OracleError(f"lint: {done.stderr.strip()}")
        for line in filter(None, done.stdout.split("\n")):
            found = json.loads(line)
            verdicts.append(Verdict(Path(found["file"]), found["ok"], tuple(found["errors"])))
    return verdicts


class Session:
    """A cluster that can run several workflows, so that they share caches and artifacts."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._count = 0

    def run(
        self,
        manifest_text: str,
        *,
        parameters: Mapping[str, str] | None = None,
        scheduled: datetime.datetime = _SCHEDULED,
        timeout_s: float = LIMIT_S,
    ) -> OracleRun:
        """Create the objects of a manifest and run its workflow; see `run`."""
        self._count += 1
        file = self._cluster.work_dir / f"manifest-{self._count}.yaml"
        file.write_text(manifest_text, encoding="utf-8")
        objects = read_objects(file)
        workflows = self._cluster.load(objects)
        if len(workflows) > 1:
            raise OracleError("the manifest has more than one Workflow")
        workflow = workflows[0] if workflows else to_workflow(objects, scheduled)
        workflow = with_parameters(workflow, parameters or {})
        return read_run(self._cluster, self._cluster.submit(workflow, timeout_s=timeout_s))

    def lint(self, manifest_text: str) -> tuple[str, ...]:
        """What the linter says of a manifest."""
        file = self._cluster.work_dir / "linted.yaml"
        file.write_text(manifest_text, encoding="utf-8")
        [verdict] = lint([file])
        return verdict.errors

    @property
    def address(self) -> str:
        """The API server, which asks nobody who they are; the namespace is `default`."""
        return f"http://{self._cluster.server.address}"

    @property
    def kubeconfig(self) -> Path:
        """The way to the API server."""
        return self._cluster.node.kubeconfig

    @property
    def faults(self) -> Faults:
        """What goes wrong with requests."""
        return self._cluster.faults

    def family(self, run: OracleRun) -> list[OracleRun]:
        """A run, and those that it has made of its parts."""
        uid = run.workflow["metadata"]["uid"]
        owned = self._cluster.store.list(WORKFLOWS, selector("", f"{PARENT_LABEL}={uid}", ""))[1]
        return [run, *(read_run(self._cluster, one) for one in owned)]

    @property
    def controller(self) -> int:
        """The number of the controller's process."""
        return self._cluster.controller

    def restart_controller(self) -> None:
        """Kill the controller, and start another."""
        self._cluster.restart_controller()

    def wait(self, name: str, *, timeout_s: float = LIMIT_S) -> OracleRun:
        """Wait for the end of a workflow that is there already."""
        return read_run(self._cluster, self._cluster.wait(name, timeout_s=timeout_s))

    @property
    def pod_names(self) -> set[str]:
        """Names of the pods that are there."""
        found = self._cluster.store.list(PODS, lambda found: True)[1]
        return {pod["metadata"]["name"] for pod in found}

    @property
    def storage(self) -> Mapping[str, object]:
        """The repository of files, as the storage of a target."""
        return {
            "bucket": bucket.NAME,
            "endpoint": self._cluster.server.address,
            "insecure": True,
            "region": "us-east-1",
            "access_key": "artifacts-key/value",
            "secret_key": "artifacts-secret/value",
        }

    def objects(self, resource: Resource) -> list[Json]:
        """The objects of a kind, those that resource templates have made."""
        return self._cluster.store.list(resource, lambda found: True)[1]

    def remove(self, resource: Resource, name: str) -> None:
        """Remove an object at once."""
        self._cluster.store.remove(resource, NAMESPACE, name)

    def remove_file(self, key: str) -> None:
        """Remove an object of the repository of files."""
        (self._cluster.bucket.folder / key).unlink()

    def config_map(self, name: str) -> dict[str, str] | None:
        """The entries of a config map, such as a cache, or None if there is none."""
        return self._cluster.config_map(name)


@contextmanager
def session(
    work_dir: Path,
    *,
    python: str | None = None,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    artifacts: Mapping[str, bytes] | None = None,
    images: Mapping[str, Json] | None = None,
    settings: Mapping[str, object] | None = None,
    shared: Sequence[Path] = (),
    resources: Mapping[Resource, Ending] | None = None,
) -> Iterator[Session]:
    """Keep a cluster running; the parameters are those of `run`."""
    interpreter = python or os.environ.get(PYTHON_VARIABLE) or sys.executable
    cluster = Cluster(
        work_dir,
        python=interpreter,
        images=images or {},
        settings=settings or {},
        shared=shared,
        statuses=resources or {},
        pod_grace_s=_GRACE_S,
    )
    for name, entries in (secrets or {}).items():
        cluster.create(SECRETS, {"metadata": {"name": name}, "stringData": dict(entries)})
    for key, content in (artifacts or {}).items():
        file = cluster.bucket.folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    with cluster.running():
        yield Session(cluster)


def run(
    manifest_text: str,
    *,
    work_dir: Path,
    parameters: Mapping[str, str] | None = None,
    python: str | None = None,
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    artifacts: Mapping[str, bytes] | None = None,
    images: Mapping[str, Json] | None = None,
    settings: Mapping[str, object] | None = None,
    shared: Sequence[Path] = (),
    resources: Mapping[Resource, Ending] | None = None,
    scheduled: datetime.datetime = _SCHEDULED,
    timeout_s: float = LIMIT_S,
) -> OracleRun:
    """Run a manifest under Argo to its end.

    Parameters
    ----------
    manifest_text
        YAML or JSON with one Workflow, or with none: then the last object is run, a CronWorkflow
        at `scheduled`, a WorkflowTemplate as ``argo submit --from`` does.
    work_dir
        A folder for the traces of the run: the controller's log, the output of each container.
    parameters
        Arguments of the workflow, as ``argo submit -p``.
    python
        The interpreter that containers find as ``python`` and ``python3``.
    secrets
        Entries of secrets in the workflow's namespace, ``default``.
    artifacts
        Content of the artifact repository at the start, by key.
    images
        Entry points by image: ``{"alpine": {"entrypoint": [...], "cmd": [...]}}``.
    settings
        More of the controller's configuration.
    shared
        Folders of this machine that containers can write, at the same paths.
    resources
        The kinds of objects that resource templates can create, each with what gives the status
        that an operator would.
    scheduled
        The time that a CronWorkflow runs for.
    timeout_s
        How long to wait for the end, in seconds.

    Raises
    ------
    OracleTimeoutError
        The workflow did not end in time.
    OracleError
        The oracle cannot read or run the manifest.
    """
    with session(
        work_dir,
        python=python,
        secrets=secrets,
        artifacts=artifacts,
        images=images,
        settings=settings,
        shared=shared,
        resources=resources,
    ) as argo:
        return argo.run(
            manifest_text, parameters=parameters, scheduled=scheduled, timeout_s=timeout_s
        )
