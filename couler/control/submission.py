"""Runs are begun on engines elsewhere: recorded first, so that none is lost, and none doubled."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
import typing as t
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from couler.backends.base import Artifact
from couler.backends.remote import Connection, Remote, Submission
from couler.control.connecting import connect, record_connection, recorded_connection
from couler.errors import (
    ConfigurationError,
    EngineError,
    ParameterError,
    RefusedError,
    RunBusyError,
    RunExistsError,
    RunNotFoundError,
    StateError,
)
from couler.ir.parameters import parameter_texts, with_values
from couler.ir.serialize import write_json
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.verify.pods import check_label_values
from couler.ir.workflow import Workflow
from couler.locations.code import upload_code
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.ownership import own_run
from couler.state.records import Json, RunRecord

_RUN_NAME = re.compile(r"[a-z]([-a-z0-9]{0,51}[a-z0-9])?")
"""Names that every engine takes for a run, and for what it makes of its steps behind it."""

UNCONFIRMED = "it is not known whether the engine has it"

_RENAME = "Choose another name (--name)"
_OTHER = {
    "engine": f"of another engine. {_RENAME}",
    "target": f"of another target. {_RENAME}",
    "workflow_digest": (
        f"of another workflow. {_RENAME}, or `couler retry {{name}} --file FILE` goes on with it"
    ),
    "parameters": f"with other parameters. {_RENAME}",
}
"""What may tell a run from another of its name, and what is said then."""

_POLL_S = 0.2
_OTHER_S = 60.0
"""How long to wait for another process that hands the same run over."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be submitted."""

    workflow: Workflow
    artifact: Artifact
    connection: Connection
    parameters: Mapping[str, object]
    name: str | None = None
    program: str | None = None
    source_map: SourceMap = NO_CHANGE


def submit(
    order: Order, database: Database, home: Home, environment: Mapping[str, str]
) -> RunRecord:
    """Begin a run, or find the one that an order of the same name has begun."""
    texts = _texts(order)
    remote = connect(order.connection, environment)
    upload_code(order.workflow, environment)
    run = _record(order, texts, database, home)
    if run.place is None:
        _hand_over(run.id, order, texts, remote, database, home)
    return runs.find_run(database, run.id)


def check(order: Order, database: Database, home: Home) -> None:
    """Check what can be checked of an order before anything is done for it."""
    texts = _texts(order)
    _find_same(_wanted(order, texts, home), database)


def _texts(order: Order) -> dict[str, str]:
    """Return what the run is given, as texts on the wire."""
    declared, settings = order.workflow.parameters, order.workflow.runs
    texts = parameter_texts(declared, order.parameters)
    if settings is not None:
        problems: list[str] = []
        given = with_values(declared, texts)
        check_label_values(settings, given, lambda code, problem: problems.append(problem))
        if problems:
            raise ParameterError("\n".join(problems))
    return texts


def submit_again(
    run: RunRecord,
    workflow: Workflow,
    artifact: Artifact,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
) -> RunRecord:
    """Begin a run that is recorded and that the engine may not have; the errors are of `submit`."""
    connection = recorded_connection(run)
    texts = {name: str(given["text"]) for name, given in run.parameters.items()}
    remote = connect(connection, environment)
    upload_code(workflow, environment)
    order = Order(workflow, artifact, connection, {}, run.id)
    _hand_over(run.id, order, texts, remote, database, home)
    return runs.find_run(database, run.id)


def _record(order: Order, texts: Mapping[str, str], database: Database, home: Home) -> RunRecord:
    """Return the record of a run of the name, which is made if there is none."""
    wanted = _wanted(order, texts, home)
    known = _find_same(wanted, database)
    if known is None:
        try:
            text = write_json(order.workflow)
            runs.create_run(database, wanted, text, source_map=order.source_map)
        except RunExistsError:  # another process has recorded one meanwhile
            known = _find_same(wanted, database)
    return known or wanted


def _wanted(order: Order, texts: Mapping[str, str], home: Home) -> RunRecord:
    """Return what is to be recorded of a run that is not recorded yet."""
    name = order.name or _new_name(order.workflow)
    if not _RUN_NAME.fullmatch(name):
        raise ParameterError(
            f"{name!r} is no name of a run: at most 53 lower-case letters, digits and hyphens, "
            "a letter first and no hyphen last"
        )
    return RunRecord(
        id=name,
        workflow=order.workflow.name,
        workflow_digest=hashlib.sha256(write_json(order.workflow).encode()).hexdigest(),
        engine=order.connection.engine,
        created=datetime.now(UTC),
        parameters=parameter_record(order.workflow, texts),
        folder=str(home.run_folder(name)),
        host=socket.gethostname(),
        program=order.program,
        target=record_connection(order.connection),
    )


def _find_same(wanted: RunRecord, database: Database) -> RunRecord | None:
    """Return the run that has the name already, if there is one."""
    name = wanted.id
    known = _find(database, name)
    if known is None:
        return None
    for what in _OTHER:
        if getattr(known, what) != getattr(wanted, what):
            raise StateError(f"there is a run {name} already, {_OTHER[what].format(name=name)}")
    return known


def _find(database: Database, name: str) -> RunRecord | None:
    try:
        found = runs.find_run(database, name)
    except RunNotFoundError:
        return None
    return found if found.id == name else None  # a beginning of another's name is not meant


def _new_name(workflow: Workflow) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", workflow.name.lower()).strip("-")
    base = base if base[:1].isalpha() else f"run-{base}".rstrip("-")
    return f"{base[:44].rstrip('-')}-{uuid.uuid4().hex[:8]}"


def parameter_record(workflow: Workflow, texts: Mapping[str, str]) -> dict[str, Json]:
    """Return values of parameters, texts on the wire, as the database holds them."""
    types = {parameter.name: parameter.type for parameter in workflow.parameters}
    return {name: {"text": text, "type": types[name]} for name, text in texts.items()}


def _hand_over(
    run_id: str,
    order: Order,
    texts: Mapping[str, str],
    remote: Remote,
    database: Database,
    home: Home,
) -> None:
    """Let the engine have a run, unless another process does so; its end is waited for."""
    until = time.monotonic() + _OTHER_S
    while runs.find_run(database, run_id).place is None:
        try:
            _hand_over_alone(run_id, order, texts, remote, database, home)
        except RunBusyError:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL_S)


def _hand_over_alone(
    run_id: str,
    order: Order,
    texts: Mapping[str, str],
    remote: Remote,
    database: Database,
    home: Home,
) -> None:
    """Let the engine have a run that no other process works on."""
    with own_run(home.run_folder(run_id)):
        expected = runs.standing_of(database, run_id)
        if runs.find_run(database, run_id).place is not None:
            return
        session = runs.begin_session(
            database,
            run_id,
            pid=os.getpid(),
            host=socket.gethostname(),
            started=datetime.now(UTC),
            expected=expected,
        )
        submission = Submission(run_id, order.workflow, order.artifact, texts)
        _ask(submission, remote, database, session)


def _ask(submission: Submission, remote: Remote, database: Database, session: int) -> None:
    """Ask the engine to begin a run; what comes of it is recorded, whatever it is."""
    run_id = submission.run_id
    # Before the engine is asked: a process that dies here has said so.
    _note(database, run_id, session, message=UNCONFIRMED)
    try:
        place = remote.submit(submission)
    except (RefusedError, ConfigurationError) as error:  # it has taken nothing, or got nothing
        _note(
            *(database, run_id, session),
            status="failed",
            message=str(error),
            finished=datetime.now(UTC),
        )
        with Journal(database, run_id, session) as journal:
            journal.session_ended("refused")
            journal.flush()
        raise
    except EngineError as error:
        _note(database, run_id, session, message=f"{UNCONFIRMED}: {error}")
        error.add_note(_submit_again(run_id))
        raise
    except Exception as error:  # a defect, which may have come after the engine had taken it
        _note(database, run_id, session, message=f"{UNCONFIRMED}: {type(error).__name__}")
        error.add_note(_submit_again(run_id))
        raise
    begun = {"status": "running", "place": dict(place), "message": "", "finished": None}
    runs.change_run(database, run_id, lambda run: begun if run.place is None else None)


def _note(database: Database, run_id: str, session: int, **values: object) -> None:
    """Record how a submission stands, unless another has come to something."""
    runs.change_run(
        database, run_id, lambda run: values if run.place is None else None, session=session
    )


def _submit_again(run_id: str) -> str:
    return f"{UNCONFIRMED}; `couler retry {run_id}` submits it again and doubles nothing"


def as_place(run: RunRecord) -> Mapping[str, t.Any]:
    """Return where the engine has a run."""
    if run.place is None:
        if run.status == "failed":
            raise StateError(f"{run.id}: the engine did not take it: {run.message}")
        raise StateError(
            f"{run.id}: {UNCONFIRMED}. `couler retry {run.id}` submits it again and doubles "
            f"nothing, `couler delete {run.id} --keep-remote` forgets it here"
        )
    return run.place
