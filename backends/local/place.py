"""Where the attempts of a run happen: its folder, its store, its environment."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from couler.backends.local.ends import Bound
from couler.backends.local.locations import Exchange
from couler.backends.local.orphans import end_attempts
from couler.backends.local.runtimes.base import Job, Runtime
from couler.errors import EvaluationError
from couler.ir.pods import HostAlias, PodSettings
from couler.ir.storage import EnvVar, Volume
from couler.ir.walk import StepPath
from couler.ir.workflow import CodeFile, Step
from couler.locations.secrets import Entries, missing_entry
from couler.store import ObjectStore

LOGS, WORK, OUTPUTS = "logs", "work", "outputs"
CODE = ".code"
"""The folder of the workflow's code, in that of a run and in the work folder of a step."""
"""The folders of a run."""

_LONGEST_NAME = 200
"""Of a file, in bytes; most file systems take 255."""


class Sweeper:
    """Ends what attempts have left behind."""

    def __init__(self) -> None:
        self._wanted: set[Path] = set()
        self._current: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def end(self, works: Iterable[Path]) -> None:
        """End what lives of attempts that have ended."""
        ended = set(works)
        if not ended:
            return
        self._wanted |= ended
        if self._next is None:
            self._next = asyncio.create_task(self._sweep(self._current))
        await asyncio.shield(self._next)

    async def _sweep(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        wanted, self._wanted = self._wanted, set()
        self._current, self._next = self._next, None
        await asyncio.to_thread(end_attempts, wanted)


@dataclass(frozen=True, slots=True)
class Place:
    """What all attempts of a run share."""

    run_id: str
    folder: Path
    store: ObjectStore
    exchange: Exchange
    entries: Entries
    environ: Mapping[str, str]
    runtime: Runtime
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    pod: PodSettings | None = None
    sweeper: Sweeper = field(default_factory=Sweeper)

    def make_folders(self) -> None:
        """Make the folders of a run, if they are not there."""
        for name in (LOGS, WORK):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def write_code(self, code: Iterable[CodeFile]) -> None:
        """Write the files of the workflow's code, if they are not there."""
        for one in code:
            file = self.folder / CODE / one.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(one.data)

    def log(self, path: StepPath) -> str:
        """Return where the log of a step's instance is written."""
        return f"{self.folder}/{LOGS}/{_file_name(path)}.log"

    def open_log(self, path: StepPath, number: int) -> int:
        """Open the log of an attempt, behind those of the earlier ones, and return its number."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        log = os.open(self.log(path), flags, 0o644)
        if number > 1:
            size = os.fstat(log).st_size
            is_cut = size > 0 and os.pread(log, 1, size - 1) != b"\n"
            os.write(log, b"%s--- attempt %d ---\n" % (b"\n" if is_cut else b"", number))
        return log

    async def job(self, bound: Bound, number: int, gpus: tuple[str, ...]) -> Job:
        """Make the folder of an attempt and return what its runtime is to know."""
        name = f"{_file_name(bound.path)}.{number}"
        folder = Path(f"{self.folder}/{WORK}/{name}")
        try:
            os.mkdir(folder)
        except FileExistsError:  # of an attempt that was not recorded, as its engine ended before
            await asyncio.to_thread(shutil.rmtree, folder)
            os.mkdir(folder)
        digest = hashlib.sha256(f"{self.run_id}/{name}".encode()).hexdigest()
        return Job(
            run_id=self.run_id,
            name=f"couler-{digest[:24]}",
            step=bound.step,
            folder=folder,
            volumes=self.volumes,
            inherited=self.environ,
            gpus=gpus,
            is_bare=self.runtime.is_bare(bound.step) and not bound.companions,
            host_network=self.pod is not None and self.pod.host_network,
            host_aliases=self._aliases(bound.step),
        )

    def _aliases(self, step: Step) -> tuple[HostAlias, ...]:
        own = () if step.pod is None else step.pod.host_aliases
        return own or (() if self.pod is None else self.pod.host_aliases)


def entry_texts(variables: tuple[EnvVar, ...], entries: Entries) -> dict[str, str]:
    """Return the variables that are taken from secrets and config maps."""
    found: dict[str, str] = {}
    for variable in variables:
        key = variable.secret or variable.config
        value = None if key is None else entries.find(key)
        if value is not None:
            found[variable.name] = value
        elif key is not None and not key.optional:
            raise EvaluationError(missing_entry(key))
    return found


def _file_name(path: StepPath) -> str:
    """Return the path as the name of a file; no step's name has a dot or a slash."""
    name = str(path).replace("/", ".")
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 17]}.{hashlib.sha256(name.encode()).hexdigest()[:16]}"
