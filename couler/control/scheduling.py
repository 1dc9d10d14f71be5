"""Schedules that engines elsewhere keep: found by the names of their workflows."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends import get_backend
from couler.backends.base import Artifact
from couler.backends.remote import Connection, RemoteBackend, Scheduled, Scheduling
from couler.control.connecting import connect
from couler.errors import EngineError, EngineOptionError, ScheduleNotFoundError
from couler.ir.diagnostics import did_you_mean
from couler.ir.workflow import Workflow

_SHOWN = 10


def connect_schedules(connection: Connection, environment: Mapping[str, str]) -> Scheduling:
    """Return the engine that a connection leads to, which keeps schedules."""
    backend: object = get_backend(connection.engine)
    if isinstance(backend, RemoteBackend):
        remote: object = connect(connection, environment)
        if isinstance(remote, Scheduling):
            return remote
    raise EngineOptionError(
        f"{connection.engine} keeps no schedules; argo and airflow do. A timer of the system, such "
        "as cron, can call couler"
    )


def put(remote: Scheduling, workflow: Workflow, artifact: Artifact) -> Scheduled:
    """Put a scheduled workflow in place, or renew it, and return what the engine has then."""
    remote.schedule(workflow, artifact)
    found = remote.find_schedule(workflow.name)
    if found is None:
        raise EngineError(
            f"{artifact.engine}: the schedule of {workflow.name} was put in place, but the engine "
            "does not show it. Look again with `couler schedule ls`, or put it again"
        )
    return found


def find(remote: Scheduling, name: str, engine: str) -> Scheduled:
    """Return the schedule of the workflow of a name."""
    found = remote.find_schedule(name)
    if found is None:
        known = [one.name for one in remote.schedules()]
        there = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
        raise ScheduleNotFoundError(
            f'{engine}: there is no schedule "{name}"; there are: {there or "none"}.'
            f"{did_you_mean(name, known)}"
        )
    return found
