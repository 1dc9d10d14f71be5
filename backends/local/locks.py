"""Locks by name that all runs of a machine's user share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import typing as t
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from couler.backends.local.writing import explain_writing
from couler.errors import ConfigurationError
from couler.ir.policies import DatabaseSemaphore, Lock, Mutex, Semaphore, locks_of
from couler.ir.storage import ConfigKey
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Workflow
from couler.locations.secrets import Entries


class Hold(t.NamedTuple):
    """A lock that a step asks for."""

    name: str
    places: int = 1
    """How many can have it at the same time."""
    kind: str = "mutex"


def hold_of(lock: Lock, entries: Entries) -> Hold:
    """Return what a lock of a workflow is on this machine."""
    namespace = "" if lock.namespace is None else f"{lock.namespace}/"
    match lock:
        case Mutex():
            kind = "database mutex" if lock.database else "mutex"
            return Hold(f"{namespace}{lock.name}", kind=kind)
        case Semaphore():
            name = f"{namespace}{lock.limit.config_map}/{lock.limit.key}"
            return Hold(name, _size(lock.limit, entries), "semaphore")
        case DatabaseSemaphore():
            raise TypeError("a semaphore in a database is refused before the start")
    t.assert_never(lock)


def require_locks(workflow: Workflow, entries: Entries) -> None:
    """Refuse to start a workflow with a lock that it would wait for for ever."""
    own = [hold_of(lock, entries) for lock in workflow.locks]
    _require_places(own, f'the workflow "{workflow.name}"')
    for path, step in steps_by_path(workflow):
        if step.locks or step.mutex is not None:
            holds = [hold_of(lock, entries) for lock in locks_of(step)]
            _require_places([*own, *holds], f'step "{path}"')


def _require_places(holds: Sequence[Hold], who: str) -> None:
    for hold, count in Counter(holds).items():
        if count > hold.places:
            raise ConfigurationError(
                f"{who} would wait for ever: with what its run holds, it asks for {count} places "
                f'of the {hold.kind} "{hold.name}", which has {hold.places}. Leave a lock out, or '
                "make the semaphore larger"
            )


def _size(key: ConfigKey, entries: Entries) -> int:
    text = entries.require(key)
    if text is None or not text.strip().isascii() or not text.strip().isdigit() or int(text) < 1:
        raise ConfigurationError(
            f'the entry "{key.key}" of the config map "{key.config_map}" is the size of a '
            f"semaphore, so it must be a whole number above 0, not {text!r}"
        )
    return int(text)


class Locks:
    """The locks in a folder, as far as this run holds them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[tuple[str, str], dict[int, int]] = {}
        """The descriptor of each place of a lock, by kind and name."""

    def take(self, hold: Hold) -> bool:
        """Take a place of a lock if there is a free one, and tell whether it was taken."""
        held = self._held.setdefault((hold.kind, hold.name), {})
        for place in range(hold.places):
            if place not in held and self._take_place(hold, place, held):
                return True
        return False

    def _take_place(self, hold: Hold, place: int, held: dict[int, int]) -> bool:
        file = self._folder / _file_name(hold, place)
        with explain_writing(self._folder, f'make the lock of the {hold.kind} "{hold.name}"'):
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        held[place] = descriptor
        return True

    def take_all(self, holds: tuple[Hold, ...]) -> Hold | None:
        """Take all of several locks, or none and return the one that is not free."""
        for count, hold in enumerate(holds):
            if not self.take(hold):
                for taken in holds[:count]:
                    self.release(taken)
                return hold
        return None

    def release(self, hold: Hold) -> None:
        """Let go of a place that `take` has given."""
        _, descriptor = self._held[hold.kind, hold.name].popitem()
        _let_go(descriptor)

    def close(self) -> None:
        """Let go of all; what was to run under them does not run any more."""
        for held in self._held.values():
            while held:
                _let_go(held.popitem()[1])

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The open files of all that are held, for processes to inherit."""
        return tuple(one for held in self._held.values() for one in held.values())


def _let_go(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing it would leave it to processes that have it
    os.close(descriptor)


def _file_name(hold: Hold, place: int) -> str:
    name = hold.name if hold.kind == "mutex" else f"{hold.kind} {hold.name} {place}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]
