"""Locks as `synchronization` of a template or of a workflow."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.pods import Tree
from couler.ir.locks import DatabaseSemaphore, Lock, Mutex, Semaphore


def synchronization(locks: Sequence[Lock]) -> Tree:
    """Return a template's or a workflow's `synchronization`."""
    fields: Tree = {"mutexes": [], "semaphores": []}
    for lock in locks:
        fields["mutexes" if isinstance(lock, Mutex) else "semaphores"].append(_entry(lock))
    return {name: entries for name, entries in fields.items() if entries}


def _entry(lock: Lock) -> Tree:
    entry: Tree
    match lock:
        case Mutex():
            entry = {"name": lock.name}
            if lock.database:
                entry["database"] = True
        case Semaphore():
            key: Tree = {"name": lock.limit.config_map, "key": lock.limit.key}
            if lock.limit.optional:
                key["optional"] = True
            entry = {"configMapKeyRef": key}
        case DatabaseSemaphore():
            entry = {"database": {"key": lock.key}}
        case _:
            t.assert_never(lock)
    if lock.namespace is not None:
        entry["namespace"] = lock.namespace
    return entry
