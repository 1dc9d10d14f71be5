"""What an engine elsewhere does for its runs: take them, tell of them, end them, repeat them.

A backend whose engine runs workflows elsewhere has a method `connect` (`RemoteBackend`). What it
returns (`Remote`) speaks the engine's own protocol and hides the engine's own names: it takes and
gives paths of steps, states, values and times as docs/semantics.md has them. Everything that is
the same for all engines (records, tables, plans of a restart, exit codes) lies above it, in
`couler.control`.
"""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import Field as ModelField, Strict, StringConstraints, ValidationError

from couler.backends.base import Artifact, Target
from couler.config_files import Table, problems_of
from couler.errors import ConfigurationError
from couler.ir.semantics.places import around
from couler.ir.semantics.status import State
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow

if t.TYPE_CHECKING:
    from couler.cluster.objects import ClusterObjects

Json: t.TypeAlias = t.Any
"""A JSON value."""

M = t.TypeVar("M", bound=Table)
GivenText = t.Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Seconds = t.Annotated[float, Strict(), ModelField(gt=0, lt=1e6)]

RunState: t.TypeAlias = t.Literal["running", "succeeded", "failed", "cancelled"]

StepState: t.TypeAlias = t.Literal[
    "waiting",
    "running",
    "retrying",
    "suspended",
    "succeeded",
    "cached",
    "failed",
    "cancelled",
    "skipped",
    "omitted",
]
"""State of an instance of a step; the last six are final."""

ENDS: frozenset[StepState] = frozenset(t.get_args(State))

AttemptState: t.TypeAlias = t.Literal["running", "succeeded", "failed", "error", "cancelled"]
"""How an attempt stands: `failed` has an exit code, `error` could not run or was lost."""


@dataclass(slots=True)
class CutOff:
    """Tells what the end of a cancelled run cut off, asked of each instance after those inside."""

    _cut: set[StepPath] = field(default_factory=set)
    _failed: set[StepPath] = field(default_factory=set)

    def ended(self, path: StepPath, last: AttemptState | None, *, runs: bool) -> bool:
        """Return whether a cancel ended an instance that failed, by its last attempt if it runs."""
        is_cut = last == "cancelled" if runs else path in self._cut or path not in self._failed
        (self._cut if is_cut else self._failed).update(around(path))
        return is_cut


class UnbegunInterrupt(KeyboardInterrupt):
    """An interrupt before the engine was asked to change anything."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where an engine is and how to get in: what a named target of the settings states.

    Attributes
    ----------
    engine
        Name of the backend.
    target
        What to compile for.
    fields
        What the engine needs to be reached, such as its address; a backend refuses fields that it
        does not know. Credentials are references (`couler.rest.credentials`), never values.
    name
        Name of the target; None for one that is put together from flags.
    """

    engine: str
    target: Target = field(default_factory=Target)
    fields: Mapping[str, Json] = field(default_factory=dict)
    name: str | None = None

    @property
    def place(self) -> str:
        """The target, for messages."""
        return f'the target "{self.name}"' if self.name else "the target"

    def read(self, model: type[M]) -> M:
        """Return the fields as a model of an engine has them.

        Raises
        ------
        ConfigurationError
            Names each field that is wrong, and the nearest of one that the engine does not know.
        """
        try:
            return model.model_validate(dict(self.fields))
        except ValidationError as error:
            told = "; ".join(text for _, text in problems_of(model, error))
            raise ConfigurationError(f"{self.place}: {told}") from error


@dataclass(frozen=True, slots=True)
class Submission:
    """A run that is to be begun.

    Attributes
    ----------
    run_id
        Name of the run. The engine's object has it, so that to submit twice is to submit once.
    workflow
        What runs, as it was compiled: after the passes, without defaults.
    artifact
        What the backend made of it.
    parameters
        Values of its parameters by name, as texts on the wire; those not given have their
        defaults.
    """

    run_id: str
    workflow: Workflow
    artifact: Artifact
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A run that the engine has.

    Attributes
    ----------
    run_id
        Name of the run.
    workflow
        What runs, as in its latest `Submission` or `Restart`.
    place
        Where the engine has it: what `submit` or `restart` returned.
    """

    run_id: str
    workflow: Workflow
    place: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Restart:
    """What of a run that has ended is to run again.

    Attributes
    ----------
    workflow, artifact
        The workflow as it is now, and what the backend made of it.
    parameters
        As of `Submission`.
    again
        Paths of instances of steps that run something, as `Observed` had them, that run again.
        What they are in (groups, foreachs, loops, the run) opens again; what is neither in here
        nor inside of one keeps its end and outputs. Empty for a run that failed in none of its
        steps: what of the engine's own failed runs again, and where there is no such thing, it is
        refused.
    """

    workflow: Workflow
    artifact: Artifact
    parameters: Mapping[str, str]
    again: frozenset[str]


@dataclass(frozen=True, slots=True)
class ObservedAttempt:
    """One try of a step, as the engine tells of it."""

    number: int
    """Number of the attempt, from 1."""
    status: AttemptState
    started: datetime | None = None
    finished: datetime | None = None
    exit_code: int | None = None
    message: str | None = None
    node: str | None = None
    """Name of the machine that it ran on, where the engine tells."""


@dataclass(frozen=True, slots=True)
class Observed:
    """How an instance of a step stood when the engine was asked.

    Attributes
    ----------
    path
        Its place in the user's workflow.
    status
        How it stands.
    started, finished
        When, aware; None where the engine does not tell.
    attempts
        Its tries, the first first; empty for groups, foreachs, loops, and what did not run.
    message
        Why it failed, waits or did not run, in the engine's words.
    exit_code
        Of the last attempt's process.
    outputs
        By name: `{"text": ..., "type": ...}`, text on the wire and the declared type, or a list
        of these for what is gathered; of a file, text is its location.
    """

    path: StepPath
    status: StepState
    started: datetime | None = None
    finished: datetime | None = None
    attempts: tuple[ObservedAttempt, ...] = ()
    message: str | None = None
    exit_code: int | None = None
    outputs: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """How a run stood when the engine was asked.

    Attributes
    ----------
    status
        How it stands.
    steps
        Instances that have begun or ended, with what they are in; those that ended first come
        first.
    outputs
        Outputs of the workflow, as JSON values, once it succeeded.
    message
        Why it failed or does not begin, where no step tells it.
    started, finished
        When, aware.
    """

    status: RunState
    steps: tuple[Observed, ...] = ()
    outputs: Mapping[str, Json] = field(default_factory=dict)
    message: str | None = None
    started: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A schedule that an engine keeps, as it tells of it.

    Attributes
    ----------
    name
        Name of the workflow.
    cron
        When it runs.
    place
        Where the engine has it: what `Scheduling.schedule` returned.
    timezone
        In which `cron` counts; None where the engine does not tell.
    is_paused
        Whether it begins no runs.
    last, next
        For which times it has begun its last run and begins the next, aware; None for none, and
        where the engine does not tell.
    message
        Why it begins no runs, in the engine's words.
    """

    name: str
    cron: tuple[str, ...]
    place: Mapping[str, Json]
    timezone: str | None = None
    is_paused: bool = False
    last: datetime | None = None
    next: datetime | None = None
    message: str | None = None


@t.runtime_checkable
class Remote(t.Protocol):
    """An engine elsewhere, connected; every method may ask it something.

    All methods raise `RefusedError` where the engine has refused and done nothing, another
    `EngineError` where it cannot be reached in time or it is not known what it has done,
    `ConfigurationError` where a credential cannot be had, and `LostRunError` where the engine has
    such a run no more. No call waits without a limit.
    """

    def submit(self, submission: Submission) -> Mapping[str, Json]:
        """Begin a run and return where it is, as JSON without secrets.

        A run of that name which the engine has already is left as it is and returned.
        """
        ...

    def observe(self, run: RemoteRun) -> Observation:
        """Return how a run stands now."""
        ...

    def follow(self, run: RemoteRun) -> Iterator[Observation]:
        """Yield how a run stands, now and whenever something has changed, until it is over.

        Connections that break and servers that restart are borne for a while.
        """
        ...

    def logs(
        self, run: RemoteRun, path: StepPath, *, attempt: int | None = None, follow: bool = False
    ) -> Iterator[str]:
        """Yield the lines that an instance has written, of its last attempt or the one of a number.

        Parameters
        ----------
        run
            The run.
        path
            An instance that runs something.
        attempt
            From 1; None for the last one.
        follow
            Go on until it ends.
        """
        ...

    def cancel(self, run: RemoteRun) -> None:
        """End a run; its exit handlers run. Nothing happens to one that has ended."""
        ...

    def restart(self, run: RemoteRun, restart: Restart) -> Mapping[str, Json]:
        """Run parts of a run that has ended again, and return where it is from now on."""
        ...

    def resume(
        self, run: RemoteRun, path: StepPath, entered: Mapping[str, str] | None = None
    ) -> None:
        """Let a step go on that waits for a person, with what is entered, by name."""
        ...

    def delete(self, run: RemoteRun) -> None:
        """Take a run away from the engine; nothing happens if it has it no more."""
        ...


@t.runtime_checkable
class RemoteBackend(t.Protocol):
    """A backend whose engine runs workflows elsewhere."""

    def connect(self, connection: Connection, environment: Mapping[str, str]) -> Remote:
        """Return the engine; it is first asked when a method of it is called.

        Parameters
        ----------
        connection
            Where it is.
        environment
            The variables of the environment, for credentials and the usual settings of the engine.

        Raises
        ------
        ConfigurationError
            An extra is missing, or a field is unknown, missing or wrong.
        """
        ...


@t.runtime_checkable
class KnowsPaths(t.Protocol):
    """A backend some of whose fields of a connection are paths of this machine."""

    path_fields: Collection[str]
    """Names of these; in a settings file such a path starts at the folder of the file."""


@t.runtime_checkable
class ListsNodes(t.Protocol):
    """A backend whose engine runs on a cluster that tells of its nodes."""

    def nodes(
        self, connection: Connection, environment: Mapping[str, str]
    ) -> Sequence[Mapping[str, Json]]:
        """Return the nodes of the cluster, as the Kubernetes API has them in `items`.

        Parameters
        ----------
        connection, environment
            As of `RemoteBackend.connect`.

        Raises
        ------
        ConfigurationError
            As of `RemoteBackend.connect`, or the connection does not lead to Kubernetes.
        EngineError
            They cannot be told, or the account may not ask for them.
        """
        ...


@t.runtime_checkable
class ManagesObjects(t.Protocol):
    """A backend whose engine runs on a cluster whose objects can be read and changed."""

    def objects(self, connection: Connection, environment: Mapping[str, str]) -> ClusterObjects:
        """Return the objects of the namespace of a target.

        The parameters and errors are those of `ListsNodes.nodes`.
        """
        ...


@t.runtime_checkable
class Scheduling(t.Protocol):
    """A `Remote` that runs workflows by a schedule; its methods raise what those of it do."""

    def schedule(self, workflow: Workflow, artifact: Artifact) -> Mapping[str, Json]:
        """Put a scheduled workflow in place, or renew it, and return where it is.

        One that is there already and paused stays so; one that the program has paused
        (`Schedule.suspended`) is.
        """
        ...

    def schedules(self) -> Sequence[Scheduled]:
        """Return what was put in place from here and is still there, by its names."""
        ...

    def find_schedule(self, name: str) -> Scheduled | None:
        """Return the schedule of the workflow of a name, if there is one that was put from here."""
        ...

    def pause(self, place: Mapping[str, Json]) -> None:
        """Let the schedule begin no more runs."""
        ...

    def unpause(self, place: Mapping[str, Json]) -> None:
        """Let the schedule begin runs again."""
        ...

    def unschedule(self, place: Mapping[str, Json], *, with_runs: bool = False) -> None:
        """Take a schedule away; nothing happens if there is none.

        Parameters
        ----------
        place
            What `schedule` returned.
        with_runs
            Whether the runs that it has begun go, too, those under way without exit handlers. If
            not, they stay and go on; where they could not go on, it is refused.
        """
        ...


@t.runtime_checkable
class ChecksRestarts(t.Protocol):
    """A `Remote` that can tell what it would refuse to restart, and does nothing."""

    def check_restart(self, run: RemoteRun, restart: Restart) -> None:
        """Raise what `restart` would for parameters that the run cannot have."""
        ...


@t.runtime_checkable
class KeepsSecrets(t.Protocol):
    """A `Remote` that can put secrets where the steps of its runs read them."""

    def put_secrets(self, secrets: Mapping[str, Mapping[str, str]]) -> None:
        """Make or renew secrets: their entries by the secret's name. Values are shown nowhere."""
        ...
