"""Airflow's REST API, version 2: the calls that runs need."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

from couler.backends.airflow.task_states import Instance, Task
from couler.backends.remote import Json
from couler.errors import ConfigurationError, EngineError, LostRunError, RefusedError
from couler.rest.answers import Shape, lacking
from couler.rest.client import Parameters, RestClient, RestError

_API = "/api/v2"
_CONFLICT = 409
_TASKS: Shape = {"task_instances": {"task_id": str}}
_PAGE = 100
"""The most that a page has unless a server's settings say otherwise."""


class AirflowApi:
    """Calls Airflow's REST API."""

    def __init__(self, client: RestClient) -> None:
        self.client = client

    def call(
        self,
        method: str,
        path: str,
        *,
        send: Json = None,
        params: Parameters | None = None,
        repeat: bool | None = None,
        absent: Collection[int] = (),
        expect: Shape | None = None,
    ) -> Json:
        """Ask for something below the version of the API, as `RestClient.call` does."""
        return self.client.call(
            method,
            _API + path,
            send=send,
            params=params,
            repeat=repeat,
            absent=absent,
            expect=expect,
        )

    def pages(
        self, path: str, name: str, params: Mapping[str, str | int | bool] | None = None
    ) -> Iterator[Json]:
        """Yield the entries of all pages of an answer."""
        offset = 0
        while True:
            asked = {**(params or {}), "limit": _PAGE, "offset": offset}
            page = self.object("GET", path, params=asked)
            entries = page.get(name)
            if not isinstance(entries, list) or lacking(page, {name: {}}) is not None:
                raise self._odd("GET", path)
            yield from entries
            offset += len(entries)  # servers can have smaller pages than are asked for
            if not entries or offset >= (page.get("total_entries") or 0):
                return

    def object(
        self,
        method: str,
        path: str,
        *,
        send: Json = None,
        params: Parameters | None = None,
        repeat: bool | None = None,
    ) -> dict[str, Json]:
        """Ask for something that is a JSON object."""
        found = self.call(method, path, send=send, params=params, repeat=repeat)
        if not isinstance(found, dict):
            raise self._odd(method, path)
        return found

    def _odd(self, method: str, path: str) -> EngineError:
        return EngineError(
            f"airflow: {method} {self.client.address}{_API}{path} was answered with something else "
            "than Airflow's API gives. Is this an Airflow of version 3?"
        )

    # DAGs ------------------------------------------------------------------------------------

    def dag(self, dag_id: str) -> dict[str, Json] | None:
        """Return a DAG; None if it is not known."""
        found = self.call("GET", f"/dags/{path_segment(dag_id)}", absent=(404,))
        return found if isinstance(found, dict) else None

    def source(self, dag_id: str) -> str | None:
        """Return the text of the file that a DAG was last read from; None if it is not told."""
        found = self.call("GET", f"/dagSources/{path_segment(dag_id)}", absent=(403, 404))
        text = found.get("content") if isinstance(found, dict) else None
        return text if isinstance(text, str) else None

    def parse_soon(self, file_token: str) -> None:
        """Have a known DAG file read before others; where that is not allowed, in its turn."""
        self.call("PUT", f"/parseDagFile/{path_segment(file_token)}", absent=(403, 404, 409))

    def import_errors(self) -> list[dict[str, Json]]:
        """Return the files that cannot be imported."""
        return list(self.pages("/importErrors", "import_errors"))

    def pause(self, dag_id: str, *, paused: bool) -> None:
        """Have nothing of a DAG begin, or have its runs go on."""
        send = {"is_paused": paused}
        self.call("PATCH", f"/dags/{path_segment(dag_id)}", send=send, repeat=True)

    def scheduled_dags(self) -> Iterator[dict[str, Json]]:
        """Yield the DAGs that are there and have a timetable."""
        for dag in self.pages("/dags", "dags", {"exclude_stale": True, "order_by": "dag_id"}):
            if dag.get("timetable_summary"):
                yield dag

    def runs(self, dag_id: str, state: str) -> list[str]:
        """Return the names of the runs of a DAG that have a state."""
        pages = self.pages(f"/dags/{path_segment(dag_id)}/dagRuns", "dag_runs", {"state": state})
        return [str(one["dag_run_id"]) for one in pages]

    def last_scheduled(self, dag_id: str) -> datetime | None:
        """Return the time that the last run was for which the schedule has begun."""
        asked: Parameters = {"run_type": "scheduled", "order_by": "-run_after", "limit": 1}
        found = self.object("GET", f"/dags/{path_segment(dag_id)}/dagRuns", params=asked)
        return next((time_of(one.get("run_after")) for one in found.get("dag_runs") or ()), None)

    def delete_dag(self, dag_id: str) -> None:
        """Forget a DAG with all its runs."""
        self.call("DELETE", f"/dags/{path_segment(dag_id)}", absent=(404,), repeat=True)

    def edges(self, dag_id: str) -> dict[str, tuple[str, ...]]:
        """Return the tasks that stand right behind each task of a DAG."""
        found = self.object("GET", f"/dags/{path_segment(dag_id)}/tasks")
        return {
            str(task["task_id"]): tuple(task.get("downstream_task_ids") or ())
            for task in found.get("tasks") or ()
        }


class RunApi:
    """Calls about one run."""

    def __init__(self, api: AirflowApi, dag_id: str, dag_run_id: str) -> None:
        self.api = api
        self.dag_id, self.dag_run_id = dag_id, dag_run_id
        self._dag = f"/dags/{path_segment(dag_id)}"
        self._path = f"{self._dag}/dagRuns/{path_segment(dag_run_id)}"

    def find(self) -> dict[str, Json] | None:
        """Return the run; None if there is none."""
        found = self.api.call("GET", self._path, absent=(404,))
        return found if isinstance(found, dict) else None

    def get(self) -> dict[str, Json]:
        """Return the DAG run, which must exist."""
        found = self.find()
        if found is None:
            raise LostRunError(
                f"airflow has no run {self.dag_run_id} of the DAG {self.dag_id} (any more)"
            )
        return found

    def begin(self, conf: Mapping[str, Json], note: str) -> dict[str, Json] | None:
        """Begin the run; if it is there, leave it as it is and return it."""
        send = {
            "dag_run_id": self.dag_run_id,
            "logical_date": None,
            "conf": dict(conf),
            "note": note,
        }
        try:
            self.api.call("POST", f"{self._dag}/dagRuns", send=send, repeat=True)
        except RestError as error:
            is_certain = isinstance(error, RefusedError) and error.code != _CONFLICT
            # It is there already, or an earlier attempt may have been heard.
            found = None if is_certain or error.code is None else self._found_after(error)
            if found is None:
                raise
            return found
        return None

    def _found_after(self, error: RestError) -> dict[str, Json] | None:
        """Return the run that may have been begun though an error was answered."""
        try:
            return self.find()
        except (RestError, ConfigurationError) as unseen:
            # A refusal to be looked at is no refusal to be begun.
            raise EngineError(
                f"{error}. Whether Airflow has the run now is not known: {unseen}"
            ) from unseen

    def change(self, **fields: Json) -> dict[str, Json]:
        """Change the state or the note of the run, and return it."""
        return self.api.object("PATCH", self._path, send=fields, repeat=True)

    def delete(self) -> bool:
        """Delete the run, and return whether it is away; one that is under way cannot be."""
        try:
            self.api.call("DELETE", self._path, absent=(404,))
        except RestError as error:
            if error.code == 409:
                return False
            raise
        return True

    def tasks(self, task: str | None = None) -> dict[Instance, Task]:
        """Return the task instances: all, or those of a task."""
        asked: dict[str, str | int | bool] = {"order_by": "id"}
        if task is not None:
            asked["task_id"] = task
        pages = self.api.pages(f"{self._path}/taskInstances", "task_instances", asked)
        return {(str(one["task_id"]), int(one["map_index"])): task_of(one) for one in pages}

    def tries(self, instance: Instance) -> list[Task]:
        """Return the tries of a task instance so far, the first first."""
        task, index = instance
        path = f"{self._task(task)}{f'/{index}' if index >= 0 else ''}/tries"
        found = self.api.call("GET", path, absent=(404,), expect=_TASKS) or {}
        tries = [task_of(one) for one in found.get("task_instances") or ()]
        return sorted(tries, key=lambda one: one.tries)

    def returned(self, instance: Instance) -> Json:
        """Return what a task instance has returned; None if there is nothing."""
        task, index = instance
        path = f"{self._task(task)}/xcomEntries/return_value"
        asked = {"map_index": index}
        found = self.api.call("GET", path, params=asked, absent=(404,), expect={}) or {}
        value = found.get("value")
        if isinstance(value, str):  # as JSON; servers differ
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value

    def log(self, instance: Instance, attempt: int) -> list[dict[str, Json]]:
        """Return the entries that a try has logged so far."""
        task, index = instance
        asked = {"map_index": index, "full_content": True}
        path = f"{self._task(task)}/logs/{attempt}"
        found = self.api.call("GET", path, params=asked, absent=(404,), expect={}) or {}
        content = found.get("content") or ()
        return [{"event": one} if isinstance(one, str) else one for one in content]

    def fail(self, instance: Instance) -> None:
        """Have a task instance failed."""
        task, index = instance
        path = self._task(task) + (f"/{index}" if index >= 0 else "")
        self.api.call("PATCH", path, send={"new_state": "failed"}, repeat=True, absent=(409,))

    def clear(self, instances: Sequence[Instance], *, dry: bool, latest: bool) -> list[Instance]:
        """Have task instances run again, and return those that do."""
        send = {
            "dag_run_id": self.dag_run_id,
            "task_ids": [[task, index] if index >= 0 else task for task, index in instances],
            "dry_run": dry,
            "only_failed": False,
            "reset_dag_runs": True,
            "run_on_latest_version": latest,
        }
        path = f"{self._dag}/clearTaskInstances"
        found = self.api.call("POST", path, send=send, repeat=dry, expect=_TASKS)
        cleared = found.get("task_instances") or ()
        return [(str(one["task_id"]), int(one.get("map_index", -1))) for one in cleared]

    def answer(
        self, instance: Instance, options: Sequence[str], values: Mapping[str, Json]
    ) -> None:
        """Answer what a task asks a person."""
        task, index = instance
        send = {"chosen_options": list(options), "params_input": dict(values)}
        self.api.call("PATCH", f"{self._task(task)}/{index}/hitlDetails", send=send)

    def question(self, instance: Instance) -> dict[str, Json] | None:
        """Return what a task asks a person; None if it asks nothing."""
        task, index = instance
        found = self.api.call("GET", f"{self._task(task)}/{index}/hitlDetails", absent=(404,))
        return found if isinstance(found, dict) else None

    def _task(self, task: str) -> str:
        return f"{self._path}/taskInstances/{path_segment(task)}"


def task_of(found: Mapping[str, Json]) -> Task:
    """Return a task instance, or a try of one, as the API gives it."""
    return Task(
        state=found.get("state"),
        tries=found.get("try_number") or 0,
        started=time_of(found.get("start_date")),
        finished=time_of(found.get("end_date")),
        ran=found.get("pid") is not None,
    )


def time_of(text: object) -> datetime | None:
    """Return a time as the API writes it."""
    return datetime.fromisoformat(text) if isinstance(text, str) else None


def path_segment(text: str) -> str:
    """Return a name as a part of a path."""
    return quote(text, safe="")
