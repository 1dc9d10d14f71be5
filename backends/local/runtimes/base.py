"""What a runtime is: the way in which the attempts of steps become processes of this machine."""

from __future__ import annotations

import asyncio
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from couler.ir.diagnostics import Diagnostic
from couler.ir.pods import HostAlias
from couler.ir.storage import Volume
from couler.ir.workflow import Container, Script, Step, Workflow

P = t.ParamSpec("P")
R = t.TypeVar("R")


class CannotStartError(Exception):
    """An attempt cannot start, for a reason that the message tells; no process was spawned."""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt of a container or script step."""

    run_id: str
    name: str
    step: Step
    folder: Path
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    inherited: Mapping[str, str] = field(default_factory=dict)
    gpus: tuple[str, ...] = ()
    is_bare: bool = False
    shared: Path | None = None
    mirrored: Path | None = None
    host_network: bool = False
    host_aliases: tuple[HostAlias, ...] = ()
    work: Path = field(init=False)  # made once: an attempt asks for it ten times

    def __post_init__(self) -> None:
        own = self.folder if self.is_bare else self.folder / "work"
        object.__setattr__(self, "work", self.mirrored or own)

    @property
    def volumes_folder(self) -> Path:
        """Where the volumes lie that are made for the attempt."""
        return (self.shared or self.folder) / "volumes"

    @property
    def action(self) -> Container | Script:
        """What the step runs."""
        if not isinstance(self.step.action, Container | Script):
            raise TypeError(f"a step of the kind {self.step.action.kind} is no process")
        return self.step.action


class Launch(t.NamedTuple):
    """What is spawned on this machine for an attempt."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    """The whole environment."""
    directory: Path


async def runtime_call(
    runtime: Runtime, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Call a runtime, beside the event loop where that may take its time."""
    if runtime.name == "process":
        return call(*args, **kwargs)
    return await asyncio.to_thread(call, *args, **kwargs)


class Runtime(t.Protocol):
    """How attempts become processes."""

    @property
    def name(self) -> str:
        """As in `couler run --runtime NAME`."""
        ...

    def check(self, workflow: Workflow) -> Iterator[Diagnostic]:
        """Yield what cannot run, before anything does."""
        ...

    def is_bare(self, step: Step) -> bool:
        """Return whether attempts of a step need no files but those in their work folders."""
        ...

    def prepare(self, job: Job) -> None:
        """Make the folders that an attempt needs, `job.work` among them."""
        ...

    def place(self, job: Job, path: str) -> Path:
        """Return where on this machine a path that the step declares lies."""
        ...

    def seen(self, job: Job, path: str) -> str:
        """Return a path that the step declares as its process sees it, always absolute."""
        ...

    def launch(self, job: Job, words: Sequence[str], environ: Mapping[str, str]) -> Launch:
        """Return what to spawn."""
        ...

    def reason(self, job: Job, exit_code: int) -> str | None:
        """Return why the step's program did not run, although what was spawned did."""
        ...

    def collect(self, job: Job) -> None:
        """Bring the files of outputs to their places, after a good end."""
        ...

    def end(self, job: Job) -> None:
        """End what is left of an attempt whose process has ended or was killed."""
        ...

    def end_orphans(self, run_id: str) -> int:
        """End what a dead engine has left of a run, and return how many attempts that were."""
        ...
