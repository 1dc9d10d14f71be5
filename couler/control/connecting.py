"""How engines elsewhere are reached, as it is recorded with a run and read back."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import fields

from couler.backends import get_backend
from couler.backends.base import Target
from couler.backends.remote import Connection, Remote, RemoteBackend
from couler.errors import EngineOptionError, StateError
from couler.state.records import Json, RunRecord

_TARGET = tuple(field.name for field in fields(Target))


def connect(connection: Connection, environment: Mapping[str, str]) -> Remote:
    """Return the engine that a connection leads to."""
    backend: object = get_backend(connection.engine)
    if not isinstance(backend, RemoteBackend):
        raise EngineOptionError(
            f"runs cannot be submitted to {connection.engine}; `couler run` runs a workflow on "
            "this machine, `couler compile` makes files for an engine"
        )
    return backend.connect(connection, environment)


def record_connection(connection: Connection) -> dict[str, Json]:
    """Return a connection as the database holds it; credentials in it are references."""
    target = {name: getattr(connection.target, name) for name in _TARGET}
    return {
        "name": connection.name,
        "fields": dict(connection.fields),
        "target": {name: value for name, value in target.items() if value},
    }


def recorded_connection(run: RunRecord) -> Connection:
    """Return the connection that a run was submitted by."""
    match run.target:
        case None:
            raise StateError(f"{run.id} ran on this machine, not on an engine elsewhere")
        case {
            "name": str() | None as name,
            "fields": Mapping() as found,
            "target": Mapping() as of,
        }:
            if of.keys() <= set(_TARGET):
                target = Target(**t.cast("dict[str, t.Any]", of))
                return Connection(run.engine, target, dict(found), name)
    raise StateError(f"{run.id}: how it was submitted cannot be read; another version recorded it")
