"""A workflow on an Airflow elsewhere, whose API is on loopback."""

from __future__ import annotations

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.remote import AirflowRemote
from couler.backends.base import Artifact, Target
from couler.backends.remote import (
    Connection,
    RemoteRun,
    Submission,
)
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import ExitHandler, Workflow
from tests.corpus.build import flow, parameter, sh
from tests.support.airflow_api import FakeAirflow

BACKEND = AirflowBackend()
FLOW = resolve_defaults(
    flow(
        "flow",
        sh("a", "echo a"),
        sh("b", "echo b", depends_on=["a"]),
        parameters=(parameter("n", 1, "int"),),
        exit_handlers=(ExitHandler(name="tell", on="any", steps=(sh("mail", "true"),)),),
    )
)
EXITS = ("exit-tell.when", "exit-tell.mail", "run-status")
ALL = ("a", "b", *EXITS)


def connected(airflow: FakeAirflow, **fields: object) -> AirflowRemote:
    known = {"address": airflow.address, "dags": str(airflow.folder), "poll_s": 0.01}
    return BACKEND.connect(Connection("airflow", fields={**known, **fields}, name="prod"), {})


def artifact(workflow: Workflow = FLOW) -> Artifact:
    return BACKEND.compile(workflow, Target())


def order(run_id: str = "r1", **parameters: str) -> Submission:
    return Submission(run_id, FLOW, artifact(), parameters)


def the_run(run_id: str = "r1", workflow: Workflow = FLOW) -> RemoteRun:
    place = {"dag_id": workflow.name, "dag_run_id": run_id, "file": f"{workflow.name}.py"}
    return RemoteRun(run_id, workflow, place)
