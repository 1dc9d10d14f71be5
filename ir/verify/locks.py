"""Rules for locks: their names, and that what waits for one can have it."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable

from couler.ir.locks import DatabaseSemaphore, Lock, Mutex, Semaphore, lock_identity, locks_of
from couler.ir.verify.environment import check_config_key
from couler.ir.verify.names import Add, check_label_name
from couler.ir.verify.scope import ScopeView
from couler.ir.workflow import Step

_NAME = re.compile(r"[a-zA-Z0-9](?:[-._a-zA-Z0-9]{0,251}[a-zA-Z0-9])?")


def check_locks(locks: Iterable[Lock], add: Add) -> None:
    """Check the locks of a step or of a workflow."""
    seen: set[tuple[str, ...]] = set()
    for lock in locks:
        identity = lock_identity(lock)
        if identity in seen:
            add("CLR151", f"{show_lock(lock)} is named twice. Remove one.")
        seen.add(identity)
        match lock:
            case Mutex():
                check_lock_name(lock.name, "mutex", add)
            case Semaphore():
                check_config_key(lock.limit, add)
            case DatabaseSemaphore():
                check_lock_name(lock.key, "semaphore", add)
            case _:
                t.assert_never(lock)
        if lock.namespace is not None:
            check_label_name(lock.namespace, "namespace", add)


def check_lock_name(name: str, what: str, add: Add) -> None:
    """Check the name of a lock or of a cache."""
    if _NAME.fullmatch(name) is None:
        add(
            "CLR411",
            f'"{name}" is no name of a {what}: letters, digits, "-", "_" and "." between them, '
            "at most 253 characters.",
        )


def check_step_locks(view: ScopeView, step: Step) -> None:
    """Check the locks of a step: their names, and that the workflow does not hold one of them."""

    def add(code: str, message: str) -> None:
        view.add(code, step, message)

    locks = locks_of(step)
    check_locks(locks, add)
    if not view.workflow.locks:
        return
    held = set(map(lock_identity, view.workflow.locks))
    for lock in locks:
        if lock_identity(lock) in held:
            _report_held(view, step, lock)


def _report_held(view: ScopeView, step: Step, lock: Lock) -> None:
    what = f"it waits for {show_lock(lock)},"
    mend = "Leave one of the two out."
    if isinstance(lock, Mutex):
        view.add("CLR430", step, f"{what} which the workflow itself holds until its end. {mend}")
        return
    view.add(  # only the engine knows how many places there are
        "CLR430",
        step,
        f"{what} of which the workflow itself holds a place until its end: as soon as runs hold "
        f"all places, the steps of all of them wait for ever. {mend}",
        "warning",
    )


def show_lock(lock: Lock) -> str:
    """Return a lock in words."""
    match lock:
        case Mutex():
            return f'the mutex "{lock.name}"'
        case Semaphore():
            return f'the semaphore "{lock.limit.key}" of the config map "{lock.limit.config_map}"'
        case DatabaseSemaphore():
            return f'the semaphore "{lock.key}"'
    t.assert_never(lock)
