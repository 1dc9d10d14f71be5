"""What a runtime is: the way in which the attempts of steps become processes of this machine.

The engine makes a `Job` for each attempt and asks the runtime of the run, in this order:

1. `prepare`: the folders that the attempt needs exist.
2. `place` and `seen`: where the engine puts the files of inputs, and what the process is told.
3. `launch`: what to spawn, as the leader of a process group of its own.
4. after the end of that process: `reason`, whether the step's program ran at all; and, if it
   ended well, `collect`, after which the files of outputs lie where `place` says.
5. `end`, however the attempt ended: nothing of it runs any more.

All of them may block, those of container runtimes for seconds.
"""

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
    """One attempt of a container or script step.

    Attributes
    ----------
    run_id
        The run; `Runtime.end_orphans` finds by it what a dead engine has left.
    name
        Name of the attempt, `[a-z0-9][a-z0-9-]*`, unique on the machine.
    step
        The step, whose values are given to `Runtime.launch`.
    folder
        The attempt's own folder, absolute, which exists; everything is put below it.
    is_bare
        Whether that is the work folder itself, as nothing but what the process writes is put
        there.
    volumes
        The volumes of the workflow, by name.
    inherited
        The environment of the engine, which processes of the machine inherit.
    gpus
        The numbers or names of the devices that the step has been given.
    shared
        The folder of the attempt whose volumes it sees, for another container of its pod; None
        for its own.
    mirrored
        The work folder of that attempt, where the container shares it.
    host_network, host_aliases
        What pods of the workflow and of the step are told of networks, for runtimes with images.
    work
        The folder that the process knows as `COULER_WORK`.
    """

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
        """What the step runs.

        Raises
        ------
        TypeError
            It is a step of another kind.
        """
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
        """Yield what cannot run, before anything does.

        Raises
        ------
        ConfigurationError
            The runtime itself cannot be used.
        """
        ...

    def is_bare(self, step: Step) -> bool:
        """Return whether attempts of a step need no files but those in their work folders.

        To make and to remove a second folder costs as much as to start a process.
        """
        ...

    def prepare(self, job: Job) -> None:
        """Make the folders that an attempt needs, `job.work` among them.

        Raises
        ------
        CannotStartError
            The attempt cannot start.
        OSError
            They cannot be made.
        """
        ...

    def place(self, job: Job, path: str) -> Path:
        """Return where on this machine a path that the step declares lies."""
        ...

    def seen(self, job: Job, path: str) -> str:
        """Return a path that the step declares as its process sees it, always absolute."""
        ...

    def launch(self, job: Job, words: Sequence[str], environ: Mapping[str, str]) -> Launch:
        """Return what to spawn.

        Parameters
        ----------
        job
            The attempt, whose inputs have been put in their places.
        words
            Command and arguments of a container step, evaluated; empty for a script.
        environ
            What the step declares: its `env` and `env_from` evaluated, `COULER_INPUT_*`.

        Raises
        ------
        CannotStartError
            The attempt cannot start: its working directory does not exist, say.
        OSError
            A file that the attempt needs cannot be written.
        """
        ...

    def reason(self, job: Job, exit_code: int) -> str | None:
        """Return why the step's program did not run, although what was spawned did.

        None if it ran: then the exit code is its own.
        """
        ...

    def collect(self, job: Job) -> None:
        """Bring the files of outputs to their places, after a good end.

        An output that the process did not write is none of its concern.

        Raises
        ------
        EngineError, OSError
            They cannot be brought.
        """
        ...

    def end(self, job: Job) -> None:
        """End what is left of an attempt whose process has ended or was killed.

        Raises
        ------
        EngineError
            It cannot be ended.
        """
        ...

    def end_orphans(self, run_id: str) -> int:
        """End what a dead engine has left of a run, and return how many attempts that were.

        Processes of the machine are not meant, which the engine itself finds.

        Raises
        ------
        EngineError
            It cannot be found or ended.
        """
        ...
