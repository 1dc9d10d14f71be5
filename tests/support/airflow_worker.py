"""Loads and runs DAG files under Airflow: ``python airflow_worker.py REQUESTS REPLIES LOG``.

It runs in Airflow's own environment, as a child of `tests.support.airflow_runs`, and so imports
nothing of this project. REQUESTS and REPLIES are numbers of open pipes; a request and its reply
are a line of JSON each. LOG is the file that is its standard output and error.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import airflow_processes  # beside this file, which is run as a program

Json = dict[str, Any]


class TimeIsUp(BaseException):
    """The parent waits no longer."""


_POLL_S = 0.05

_ready: list[bool] = []
_stopped: list[bool] = []


def load(file: str) -> Json:
    """What Airflow makes of a file: no database is needed for that."""
    bag = _bag(file)
    to_dict, from_dict = _serialization()
    dags = {}
    for dag_id, dag in bag.dags.items():
        found = json.loads(json.dumps(to_dict(dag)))
        dags[dag_id] = {
            "tasks": sorted(dag.task_ids),
            "serialized": found,
            "round_trip": _shape(dag) == _shape(from_dict(found)),
        }
    errors = {Path(path).name: text for path, text in bag.import_errors.items()}
    warned = getattr(bag, "captured_warnings", {})
    warnings = {Path(path).name: list(texts) for path, texts in warned.items()}
    return {"dags": dags, "errors": errors, "warnings": warnings}


def run(
    file: str,
    dag_id: str,
    conf: Json,
    connections: dict[str, Json],
    has_pods: bool,
    log: str,
) -> Json:
    """Run a DAG to its end with ``dag.test``, as if it was triggered by the API."""
    if not _ready:
        from airflow.utils.db import initdb

        initdb()
        _ready.append(True)
    # The same process runs all tasks; each asks for a connection anew.
    os.environ.pop("AIRFLOW_CONN_KUBERNETES_DEFAULT", None)
    for name, connection in connections.items():
        os.environ[f"AIRFLOW_CONN_{name.upper()}"] = json.dumps(connection)
    bag = _bag(file)
    if bag.import_errors:
        return {"error": "".join(bag.import_errors.values())}
    places: list[Json] = []
    before = _end_of(log)
    dag = bag.dags[dag_id]
    _poll_often(dag)
    pods = contextlib.nullcontext() if has_pods else airflow_processes.in_place_of_pods()
    with pods, _places_of_logs(log, places), contextlib.suppress(TimeIsUp):
        dag.test(logical_date=None, run_conf=conf)
    return {
        **_outcome(dag_id),
        # A task that was interrupted has failed by that: Airflow takes any exception for an error.
        "timed_out": bool(_stopped),
        "logs": places,
        "log": [before, _end_of(log)],
    }


def _poll_often(dag: Any) -> None:
    """Ask at once again whether a pod has started: here it has in no time."""
    name = "startup_check_interval_seconds"
    for task in dag.tasks:
        if task.is_mapped and task.task_type == "KubernetesPodOperator":
            task.partial_kwargs[name] = _POLL_S
        elif hasattr(task, name):
            setattr(task, name, _POLL_S)


def _shape(dag: Any) -> Json:
    """What must survive to the scheduler's side; its DAG cannot be written a second time."""
    return {
        task.task_id: [
            sorted(task.downstream_task_ids),
            task.task_type,
            str(getattr(task.trigger_rule, "value", task.trigger_rule)),
            bool(task.is_mapped),
            bool(task.is_teardown),
        ]
        for task in dag.tasks
    }


@contextlib.contextmanager
def _places_of_logs(log: str, places: list[Json]) -> Iterator[None]:
    """Note which part of the log each task writes: ``dag.test`` runs one after the other."""
    from airflow.sdk.definitions import dag as module

    original = module._run_task

    def run_task(*, ti: Any, **more: Any) -> Any:
        if _stopped:
            raise TimeIsUp
        place = {"task": ti.task_id, "map_index": ti.map_index, "from": _end_of(log)}
        try:
            return original(ti=ti, **more)
        finally:
            places.append({**place, "to": _end_of(log)})

    module._run_task = run_task
    try:
        yield
    finally:
        module._run_task = original


def _outcome(dag_id: str) -> Json:
    from airflow.models.dagrun import DagRun
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        run = session.scalars(
            select(DagRun).where(DagRun.dag_id == dag_id).order_by(DagRun.id.desc()).limit(1)
        ).first()
        if run is None:
            return {"state": None, "run_id": "", "tasks": [], "xcoms": [], "rendered": []}
        chosen = {"dag_id": dag_id, "run_id": run.run_id}
        tasks = session.scalars(select(TaskInstance).filter_by(**chosen)).all()
        rows = session.scalars(select(XComModel).filter_by(**chosen)).all()
        fields = session.scalars(select(RenderedTaskInstanceFields).filter_by(**chosen)).all()
        return {
            "state": str(run.state),
            "run_id": run.run_id,
            "tasks": [
                {
                    "task": one.task_id,
                    "map_index": one.map_index,
                    "state": None if one.state is None else str(one.state),
                    "tries": one.try_number,
                    "map_label": one.rendered_map_index,
                }
                for one in tasks
            ],
            "xcoms": [
                {
                    "task": row.task_id,
                    "map_index": row.map_index,
                    "key": row.key,
                    "value": XComModel.deserialize_value(row),
                }
                for row in rows
            ],
            "rendered": [
                {"task": one.task_id, "map_index": one.map_index, "fields": one.rendered_fields}
                for one in fields
            ],
        }


def _bag(file: str) -> Any:
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before 3.2
        from airflow.models.dagbag import DagBag  # type: ignore[no-redef]
    return DagBag(file)


def _serialization() -> tuple[Any, Any]:
    from airflow.serialization import serialized_objects

    found = getattr(serialized_objects, "DagSerialization", None)  # since 3.2
    found = found or serialized_objects.SerializedDAG
    return found.to_dict, found.from_dict


def _end_of(log: str) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    return os.stat(log).st_size


def _answer(request: Json, log: str) -> Json:
    operation = request.pop("do")
    try:
        if operation == "load":
            return load(**request)
        return run(**request, log=log)
    except TimeIsUp:
        return {"error": "time is up"}
    except Exception:  # noqa: BLE001 - the parent says what was wrong
        return {"error": traceback.format_exc()}


def main() -> None:
    def stop(*_: object) -> None:
        _stopped.append(True)
        raise TimeIsUp

    signal.signal(signal.SIGUSR1, stop)
    log = sys.argv[3]
    with open(int(sys.argv[1])) as requests, open(int(sys.argv[2]), "w") as replies:
        for line in requests:
            answer = _answer(json.loads(line), log)
            replies.write(json.dumps(answer, default=repr) + "\n")
            replies.flush()


if __name__ == "__main__":
    main()
