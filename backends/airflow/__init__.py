"""Airflow: one DAG file a workflow, which imports nothing of Couler."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.backends.airflow.capabilities import CAPABILITIES
from couler.backends.base import (
    Artifact,
    ArtifactFile,
    Capabilities,
    Target,
    choose_format,
    choose_profile,
)
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow

if t.TYPE_CHECKING:
    from couler.backends.airflow.options import Options
    from couler.backends.airflow.remote import AirflowRemote
    from couler.backends.remote import Connection

__all__ = ["AirflowBackend"]


class AirflowBackend:
    """Compiles workflows to DAG files for Airflow 3.

    Containers and scripts run in pods of Kubernetes, by the provider `cncf.kubernetes`. The file
    needs that provider and `standard`, and nothing of Couler.
    """

    name: str = "airflow"
    profiles: tuple[str, ...] = ("airflow",)
    formats: tuple[str, ...] = ("python",)
    path_fields: tuple[str, ...] = ("dags", "ca")

    def capabilities(self, target: Target) -> Capabilities:
        """Return what Airflow can do."""
        choose_profile(self, target)
        return CAPABILITIES

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Yield what Airflow would refuse beyond features."""
        from couler.backends.airflow.check import check

        yield from check(workflow, _options(target))

    def compile(self, workflow: Workflow, target: Target, *, format: str = "python") -> Artifact:
        """Turn a verified workflow into a DAG file.

        Parameters
        ----------
        workflow
            Verified, its defaults resolved.
        target
            Version and options: `helper_image`.
        format
            `python`.

        Raises
        ------
        EngineOptionError
            The format, the version or an option is unknown.
        """
        from couler.backends.airflow.dag import dag_file, notes

        choose_profile(self, target)
        choose_format(self, format)
        options = _options(target)
        text = dag_file(workflow, options)
        return Artifact(
            engine=self.name,
            files=(ArtifactFile(f"{workflow.name}.py", text),),
            notes=tuple(notes(workflow, options)),
        )

    def judge(self, artifact: Artifact) -> Iterator[Diagnostic]:
        """Yield what keeps the Airflow of this machine from loading a file.

        Raises
        ------
        ConfigurationError
            Airflow is not installed; `COULER_AIRFLOW_PYTHON` can name another interpreter.
        """
        import os

        from couler.backends.airflow.judge import judge

        yield from judge(artifact, os.environ)

    def connect(self, connection: Connection, environment: Mapping[str, str]) -> AirflowRemote:
        """Return an Airflow elsewhere; see `couler.backends.remote.RemoteBackend.connect`.

        Raises
        ------
        ConfigurationError
            The extra `airflow-client` is missing, or a field is unknown, missing or wrong.
        """
        from couler.backends.airflow.connecting import read_access
        from couler.backends.airflow.remote import AirflowRemote

        def compile(workflow: Workflow) -> Artifact:
            return self.compile(workflow, connection.target)

        return AirflowRemote(read_access(connection, environment), compile)


def _options(target: Target) -> Options:
    from couler.backends.airflow.options import options

    return options(target)
