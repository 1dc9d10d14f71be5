"""Locks that a step or a whole workflow holds while it runs, against others of an engine."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from pydantic import Field as ModelField

from couler.ir.base import Variant
from couler.ir.features import Feature
from couler.ir.storage import ConfigKey

if t.TYPE_CHECKING:
    from couler.ir.workflow import Step


class Mutex(Variant):
    """A lock that one holder has at a time."""

    kind: t.Literal["mutex"] = "mutex"
    name: str
    namespace: str | None = None
    """Those of one namespace know each other's locks; None for that of the run."""
    database: bool = False
    """Kept in a database, which the engines of several clusters can share."""


class Semaphore(Variant):
    """A lock that several holders have at a time, as many as an entry of a config map says."""

    kind: t.Literal["semaphore"] = "semaphore"
    limit: ConfigKey
    namespace: str | None = None
    """Where the config map and the holders are; None for that of the run."""


class DatabaseSemaphore(Variant):
    """A lock that several holders have at a time, as many as a database of the engine says."""

    kind: t.Literal["database_semaphore"] = "database_semaphore"
    key: str
    namespace: str | None = None


Lock = t.Annotated[Mutex | Semaphore | DatabaseSemaphore, ModelField(discriminator="kind")]


def locks_of(step: Step) -> tuple[Lock, ...]:
    """Return all locks that a step holds while it runs, that of its `mutex` first."""
    return step.locks if step.mutex is None else (Mutex(name=step.mutex), *step.locks)


def lock_identity(lock: Lock) -> tuple[str, ...]:
    """Return what two locks have in common if they are the same for an engine."""
    namespace = lock.namespace or ""
    match lock:
        case Mutex():
            return (lock.kind, str(lock.database), namespace, lock.name)
        case Semaphore():
            return (lock.kind, namespace, lock.limit.config_map, lock.limit.key)
        case DatabaseSemaphore():
            return (lock.kind, namespace, lock.key)
    t.assert_never(lock)


def lock_features(lock: Lock) -> Iterator[Feature]:
    """Yield the features that a lock asks of an engine."""
    match lock:
        case Mutex():
            yield Feature.MUTEX_DATABASE if lock.database else Feature.MUTEX
        case Semaphore():
            yield Feature.SEMAPHORE
        case DatabaseSemaphore():
            yield Feature.SEMAPHORE_DATABASE
        case _:
            t.assert_never(lock)
    if lock.namespace is not None:
        yield Feature.LOCK_NAMESPACE
