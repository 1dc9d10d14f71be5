"""Locks of steps and workflows, as programs write them."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import dataclass

from couler.ir import policies as ir
from couler.ir.storage import ConfigKey


@dataclass(frozen=True, slots=True)
class Mutex:
    """A lock that one step or workflow has at a time.

    Attributes
    ----------
    name
        Those with the same name wait for each other.
    namespace
        Of the cluster, whose locks these are; None for that of the run.
    database
        Keep it in the database of the engine, so that several clusters can share it.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("deployment") as wf:
    ...     deploy = couler.run_container("busybox", ["true"], locks=couler.Mutex("production"))
    """

    name: str
    namespace: str | None = None
    database: bool = False


@dataclass(frozen=True, slots=True)
class Semaphore:
    """A lock that several steps or workflows have at a time.

    Attributes
    ----------
    key
        The entry that says how many.
    config_map
        The config map that the entry is in; None for the database of the engine.
    namespace
        Of the cluster, whose locks these are; None for that of the run.

    Examples
    --------
    >>> import couler
    >>> limit = couler.Semaphore("trainings", config_map="limits")
    >>> with couler.Workflow("training") as wf:
    ...     fit = couler.run_container("busybox", ["true"], locks=limit)
    """

    key: str
    config_map: str | None = None
    namespace: str | None = None


AnyLock: t.TypeAlias = Mutex | Semaphore


def read_locks(given: object) -> tuple[ir.Lock, ...]:
    """Return the locks of the IR that an argument `locks` stands for."""
    locks: Sequence[object] = given if isinstance(given, list | tuple) else (given,)
    return tuple(_lock(lock) for lock in locks)


def _lock(given: object) -> ir.Lock:
    match given:
        case Mutex(name, namespace, database):
            return ir.Mutex(name=name, namespace=namespace, database=database)
        case Semaphore(key, None, namespace):
            return ir.DatabaseSemaphore(key=key, namespace=namespace)
        case Semaphore(key, config_map, namespace):
            assert config_map is not None
            limit = ConfigKey(config_map=config_map, key=key)
            return ir.Semaphore(limit=limit, namespace=namespace)
    raise ValueError(f"{given!r:.60} is no couler.Mutex or couler.Semaphore")
