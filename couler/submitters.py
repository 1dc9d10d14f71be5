"""Submitters: what `couler.run` hands a workflow to, and the runs that come of it."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from couler import stages, state
from couler.backends.base import RunOptions, RuntimeName, Target
from couler.backends.remote import Connection, Scheduled, Scheduling
from couler.ir.defaults import Storages
from couler.ir.serialize import read_json
from couler.ir.walk import StepPath

if t.TYPE_CHECKING:
    from couler.dsl.workflow import Workflow
    from couler.state import Database, Home, RunRecord
    from couler.state.records import RunStatus

Reference: t.TypeAlias = Mapping[str, t.Any]
"""Where a secret is: `{"env": NAME}`, `{"file": PATH}` or `{"command": WORDS}`."""


class SubmittedRun:
    """A run on an engine elsewhere.

    It is recorded, so that the commands of `couler` know it by its name, and other programs make
    this object from it.

    Parameters
    ----------
    run_id
        Name of the run, a beginning of it that no other has, or `latest`.
    home
        The folder in which runs are kept; None for the usual one.

    Attributes
    ----------
    run_id
        Name of the run.

    Raises
    ------
    RunNotFoundError
        There is no such run.
    """

    def __init__(self, run_id: str, *, home: Path | str | None = None) -> None:
        self._home = _find_home(home)
        self.run_id = run_id
        with self._open() as (_, run):
            self.run_id = run.id

    def __repr__(self) -> str:
        return f"<couler run {self.run_id}>"

    def __getitem__(self, key: str) -> dict[str, str]:
        """Return the `metadata` that programs of the ancestor read the name of a run from."""
        if key != "metadata":
            raise KeyError(f"{key}: a run is not the object that the API of the cluster returned")
        return {"name": self.run_id}

    def status(self) -> RunStatus:
        """Ask the engine how the run stands: running, succeeded, failed or cancelled.

        Raises
        ------
        EngineError, ConfigurationError
            The engine cannot be asked.
        """
        from couler.control.following import refresh

        with self._open() as (database, run):
            if run.status == "running":
                run = refresh(run, database, self._home, os.environ)
            return run.status

    def wait(self, on_event: Callable[[stages.RunEvent], None] | None = None) -> stages.RunResult:
        """Wait until the run is over, and return how it ended; one that failed raises nothing.

        Parameters
        ----------
        on_event
            Told of what happens to each step.

        Raises
        ------
        RunBusyError
            Another process follows it.
        EngineError, ConfigurationError
            The engine cannot be asked; the run may go on.
        """
        from couler.control.following import follow
        from couler.control.results import result_of

        with self._open() as (database, run):
            if run.status == "running":
                follow(run, database, self._home, os.environ, on_event=on_event)
            return result_of(database, run.id)

    @property
    def outputs(self) -> Mapping[str, t.Any]:
        """Outputs of the workflow by name, once `wait` or `status` has seen it succeed."""
        with self._open() as (_, run):
            return run.outputs

    def logs(self, step: str, *, attempt: int | None = None) -> str:
        """Return what a step has written.

        Parameters
        ----------
        step
            Its path, such as `train[2]/fit`, as the program has it or the run.
        attempt
            From 1; None for the last one.

        Raises
        ------
        EngineError, ConfigurationError
            The engine cannot be asked, or has no such log.
        """
        from couler.control.log_reading import read_log
        from couler.ir.semantics.places import find_place

        with self._open() as (database, run):
            if source_map := state.source_map_of(database, run.id):
                step = find_place(read_json(state.workflow_of(database, run.id)), step, source_map)
            path = StepPath.parse(step)
            return "\n".join(read_log(run, path, database, os.environ, attempt=attempt))

    def cancel(self) -> RunStatus:
        """End the run, and return how it stands then: `running` if it takes long to end."""
        from couler.control.ending import cancel

        with self._open() as (database, run):
            return cancel(run, database, self._home, os.environ).status

    @contextmanager
    def _open(self) -> Iterator[tuple[Database, RunRecord]]:
        with state.open_database(self._home.database_url) as database:
            yield database, state.find_run(database, self.run_id)


class SubmittedSchedule:
    """A workflow that an engine elsewhere runs by its schedule.

    Submitters make it: `submitter.schedule(workflow)` and `submitter.schedules()`. The engine is
    asked for all that it tells; nothing is recorded.

    Attributes
    ----------
    name
        Name of the workflow.
    """

    def __init__(self, name: str, connection: Connection) -> None:
        self.name = name
        self._connection = connection

    def __repr__(self) -> str:
        return f"<couler schedule {self.name}>"

    def state(self) -> Scheduled:
        """Ask the engine when it runs, whether it is paused, and what it tells beside.

        Raises
        ------
        ScheduleNotFoundError
            It is not there any more.
        EngineError, ConfigurationError
            The engine cannot be asked.
        """
        return self._found()[1]

    def pause(self) -> None:
        """Let it begin no more runs; the errors are those of `state`, here and below."""
        remote, found = self._found()
        remote.pause(found.place)

    def resume(self) -> None:
        """Let it begin runs again."""
        remote, found = self._found()
        remote.unpause(found.place)

    def delete(self, *, with_runs: bool = False) -> None:
        """Take it away, and with it, if that is said, the runs that it has begun."""
        remote, found = self._found()
        remote.unschedule(found.place, with_runs=with_runs)

    def _found(self) -> tuple[Scheduling, Scheduled]:
        from couler.control.scheduling import connect_schedules, find

        remote = connect_schedules(self._connection, os.environ)
        return remote, find(remote, self.name, self._connection.engine)


class LocalSubmitter:
    """Runs workflows on this machine, to their end; for `couler.run`.

    Parameters
    ----------
    parameters
        Values of the workflow's parameters; text is read as the declared type.
    jobs
        How many processes at the same time; None for one a processor.
    runtime
        `process`, or the program that runs the images: `podman` or `docker`.
    use_cache
        Whether steps that ask for it may take the outputs of an earlier run, and give theirs.
    home
        The folder in which runs are kept; None for the usual one.

    Examples
    --------
    >>> import couler
    >>> submitter = couler.LocalSubmitter(jobs=2)
    """

    def __init__(
        self,
        *,
        parameters: Mapping[str, object] | None = None,
        jobs: int | None = None,
        runtime: RuntimeName = "process",
        use_cache: bool = True,
        home: Path | str | None = None,
    ) -> None:
        self.parameters = dict(parameters or {})
        self.options = RunOptions(
            home=None if home is None else Path(home),
            jobs=jobs,
            runtime=runtime,
            use_cache=use_cache,
        )

    def submit(self, workflow: Workflow, /) -> stages.RunResult:
        """Run a workflow; see `couler.stages.run` for what it raises."""
        return stages.run(workflow, parameters=self.parameters, options=self.options)


class AirflowSubmitter:
    """Submits workflows to an Airflow; for `couler.run`.

    The run is recorded as `couler submit` records it, and goes on by itself. This needs an extra:
    `pip install 'couler[airflow-client]'`.

    Parameters
    ----------
    address
        Of Airflow's API server, such as `https://airflow.example:8080`.
    dags
        The folder that its DAG processor reads, or an address of it that fsspec knows.
    token
        A reference to the token that lets in, such as `{"env": "AIRFLOW_TOKEN"}`.
    username, password
        What lets in where there is no token; the password is a reference.
    parameters
        Values of the workflow's parameters; text is read as the declared type.
    namespace
        Where the pods of steps run; None for that of Airflow's connection.
    options
        Options of the compiler for Airflow, such as `{"files_claim": "shared"}`.
    storages
        What programs need not say of where files are, by the kind of storage.
    fields
        What else a target of the settings says of how Airflow is reached, such as `ca`.
    name
        Name of the run; None for a new one. A run of that name which is there is not doubled.
    home
        The folder in which runs are kept; None for the usual one.

    Examples
    --------
    >>> import couler
    >>> submitter = couler.AirflowSubmitter(
    ...     "https://airflow.example:8080", "/opt/airflow/dags", token={"env": "AIRFLOW_TOKEN"}
    ... )
    """

    def __init__(
        self,
        address: str,
        dags: Path | str | None = None,
        *,
        token: Reference | None = None,
        username: str | None = None,
        password: Reference | None = None,
        parameters: Mapping[str, object] | None = None,
        namespace: str | None = None,
        options: Mapping[str, t.Any] | None = None,
        storages: Storages | None = None,
        fields: Mapping[str, t.Any] | None = None,
        name: str | None = None,
        home: Path | str | None = None,
    ) -> None:
        given = {
            "address": address,
            "dags": None if dags is None else absolute(str(dags)),
            "token": token,
            "username": username,
            "password": password,
            **(fields or {}),
        }
        self.connection = Connection(
            "airflow",
            Target(namespace=namespace, options=options or {}, storages=storages or {}),
            {name: value for name, value in given.items() if value is not None},
        )
        self.parameters = dict(parameters or {})
        self.name = name
        self.home = home

    def submit(self, workflow: Workflow, /) -> SubmittedRun:
        """Compile a workflow, put it into Airflow's folder and begin a run of it.

        Raises
        ------
        InvalidWorkflowError, UnsupportedFeatureError
            The workflow has errors, or asks for what Airflow cannot do.
        ParameterError
            The parameters do not fit.
        ConfigurationError
            The extra or a credential is missing.
        EngineError
            Airflow refused or cannot be reached.
        """
        return submit_to(
            self.connection, workflow, parameters=self.parameters, name=self.name, home=self.home
        )

    def schedule(self, workflow: Workflow, /) -> SubmittedSchedule:
        """Put a workflow that has a schedule in place, or renew it; one that is paused stays so.

        Raises
        ------
        DefinitionError
            The workflow has no schedule.
        InvalidWorkflowError, UnsupportedFeatureError, ParameterError
            As `submit`.
        ConfigurationError, EngineError
            As `submit`.
        """
        return schedule_at(self.connection, workflow, parameters=self.parameters)

    def schedules(self) -> list[SubmittedSchedule]:
        """Return what was put in place from here and is still there."""
        return schedules_at(self.connection)


def schedule_at(
    connection: Connection,
    workflow: Workflow,
    *,
    parameters: Mapping[str, object] | None = None,
    before_put: Callable[[], None] | None = None,
) -> SubmittedSchedule:
    """Put a scheduled workflow in place; see `couler.stages.schedule`."""
    found = stages.schedule(
        workflow,
        connection,
        environment=os.environ,
        parameters=parameters,
        before_put=before_put,
    )
    return SubmittedSchedule(found.name, connection)


def schedules_at(connection: Connection) -> list[SubmittedSchedule]:
    """Return the schedules that an engine keeps."""
    from couler.control.scheduling import connect_schedules

    remote = connect_schedules(connection, os.environ)
    return [SubmittedSchedule(one.name, connection) for one in remote.schedules()]


def submit_to(
    connection: Connection,
    workflow: Workflow,
    *,
    parameters: Mapping[str, object] | None = None,
    name: str | None = None,
    home: Path | str | None = None,
) -> SubmittedRun:
    """Begin a run on an engine elsewhere and record it; see `couler.stages.submit`."""
    found = _find_home(home)
    with state.open_database(found.database_url) as database:
        run = stages.submit(
            workflow,
            connection,
            database=database,
            home=found,
            environment=os.environ,
            parameters=parameters,
            name=name,
        )
    return SubmittedRun(run.id, home=home)


def absolute(path: str) -> str:
    """Return a path as it holds in every folder, as others ask for the run; a URL as it is."""
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


def _find_home(home: Path | str | None) -> Home:
    named = {} if home is None else {"COULER_HOME": os.path.abspath(home)}
    return state.Home.find({**os.environ, **named})
