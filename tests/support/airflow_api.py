"""Airflow's REST API as far as runs are driven by it, on loopback, with faults where a test wants.

It has one DAG, of the file that lies in its folder, and runs that stand as a test sets them;
nothing runs here. What a whole Airflow answers is tested in `tests/airflow`.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.rest.faulty_server import Answer, FaultyServer, says

Json = t.Any
TIME = "2026-03-01T12:00:00Z"


@dataclass
class Fault:
    """An answer in the place of the right one, so many times."""

    method: str
    place: str
    answer: Answer
    times: int = 1
    after: bool = False
    """Whether the server does first what it is asked."""


def task(
    name: str, state: str | None, *, index: int = -1, tries: int = 1, ran: bool = True
) -> Json:
    """Return a task instance as the API gives it."""
    return {
        "task_id": name,
        "map_index": index,
        "state": state,
        "try_number": tries,
        "start_date": TIME if state is not None else None,
        "end_date": TIME if state in ("success", "failed", "skipped", "upstream_failed") else None,
        "pid": 17 if ran and state is not None else None,
    }


@dataclass
class FakeAirflow:
    """The API, and what stands behind it."""

    folder: Path
    dag_id: str = "flow"
    page: int = 100
    is_paused: bool = True
    is_read: bool = True
    import_errors: list[Json] = field(default_factory=list)
    runs: dict[str, Json] = field(default_factory=dict)
    tasks: list[Json] = field(default_factory=list)
    returned: dict[str, Json] = field(default_factory=dict)
    logs: dict[str, list[Json]] = field(default_factory=dict)
    tries: dict[str, list[Json]] = field(default_factory=dict)
    edges: dict[str, list[str]] = field(default_factory=dict)
    questions: dict[str, Json] = field(default_factory=dict)
    also_cleared: list[Json] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple[str, str, Json]] = field(default_factory=list)
    others: list[Json] = field(default_factory=list)
    """DAGs that are not of the file."""
    read: str | None = None
    """The text of the file as it was read last; of one that is gone, Airflow knows for a while."""
    parsed: str | None = None
    """The text that the DAG is of: the one that was read last, or for `lag` looks the one before,
    as Airflow has it where a file is replaced while it is parsed."""
    parses: int = 0
    lag: int = 0
    stale: int = 0
    """For how many looks the DAG is taken for removed."""
    tokens: set[str] | None = None
    """Those that are let in; None for everyone."""
    address: str = ""

    @contextmanager
    def running(self) -> Iterator[FakeAirflow]:
        """Serve until the end of the block."""
        server = FaultyServer()
        server.answers = [self._answer]
        self._server = server
        with server.running():
            self.address = server.address
            yield self

    def silent(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer only when the test is over."""
        self._server.silent(handler)

    def begin(self, run_id: str, state: str = "running", **fields: Json) -> Json:
        """Have a run."""
        made = {"dag_run_id": run_id, "state": state, "conf": {}, "note": None, **fields}
        self.runs[run_id] = {"start_date": TIME, "end_date": TIME, **made}
        return self.runs[run_id]

    def sent(self, method: str, place: str = "") -> list[Json]:
        """Return what was sent with the questions of a method, in order."""
        return [body for how, path, body in self.asked if how == method and place in path]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        method, path = handler.command, handler.path
        body = self._server.bodies[-1]
        self.asked.append((method, path, body))
        for fault in self.faults:
            if fault.times and fault.method == method and fault.place in path:
                fault.times -= 1
                if fault.after:
                    self._right(method, path, body)
                fault.answer(handler)
                return
        token = (handler.headers.get("Authorization") or "").removeprefix("Bearer ")
        if self.tokens is not None and token not in self.tokens and "/auth/" not in path:
            says(401, {"detail": "Invalid JWT token"})(handler)
            return
        says(*self._right(method, path, body))(handler)

    def _right(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        parts = urlsplit(path)
        place = unquote(parts.path).removeprefix("/api/v2")
        query = {name: one[0] for name, one in parse_qs(parts.query).items()}
        for pattern, answer in _ROUTES:
            found = re.fullmatch(pattern, f"{method} {place}")
            if found is not None:
                answered: tuple[int, Json] = answer(self, *found.groups(), body=body, query=query)
                return answered
        return 404, {"detail": "Not Found"}

    # what is answered ------------------------------------------------------------------------

    def _source(self) -> str | None:
        place = self.folder / f"{self.dag_id}.py"
        if place.exists() and self.is_read:
            self.read = place.read_text()
        return self.read

    def login(self, body: Json, **_: Json) -> tuple[int, Json]:
        if body != {"username": "ann", "password": "right"}:
            return 401, {"detail": "Invalid credentials"}
        return 201, {"access_token": "given"}

    def dag(self, name: str, body: Json, **_: Json) -> tuple[int, Json]:
        if name != self.dag_id or self._source() is None:
            return 404, {"detail": "The Dag was not found"}
        if body is not None:
            self.is_paused = body["is_paused"]
        return 200, self._dag()

    def _dag(self) -> Json:
        source = self._source()
        if self.parsed is None or source == self.parsed or self.lag == 0:
            self.parsed = source
            self.parses += 1
        else:
            self.lag -= 1
        self.stale = max(self.stale - 1, 0)
        timetable = re.search(r"CronTriggerTimetable\(\s*(.*?),\s*timezone", self.parsed or "")
        return {
            "dag_id": self.dag_id,
            "is_paused": self.is_paused,
            "is_stale": self.stale > 0,
            "last_parsed_time": f"2026-03-01T12:00:00.{self.parses:06}Z",
            "relative_fileloc": f"{self.dag_id}.py",
            "timetable_summary": None if timetable is None else timetable[1].replace('"', ""),
            "next_dagrun_run_after": TIME,
        }

    def dags(self, query: Json, **_: Json) -> tuple[int, Json]:
        found = [] if self._source() is None else [self._dag()]
        return 200, self._paged("dags", [*self.others, *found], query)

    def delete_dag(self, *_: str, **__: Json) -> tuple[int, Json]:
        if self._source() is None:
            return 404, {"detail": "The Dag was not found"}
        self.read = None
        self.runs.clear()
        return 204, None

    def list_runs(self, *_: str, query: Json, **__: Json) -> tuple[int, Json]:
        wanted = {name: query[name] for name in ("state", "run_type") if name in query}
        found = [
            one
            for one in self.runs.values()
            if all(one.get(name) == value for name, value in wanted.items())
        ]
        if query.get("order_by") == "-run_after":
            found.sort(key=lambda one: one["run_after"], reverse=True)
        return 200, self._paged("dag_runs", found, {"offset": 0, **query})

    def source(self, *_: str, **__: Json) -> tuple[int, Json]:
        return 200, {"content": self._source()}

    def errors(self, query: Json, **_: Json) -> tuple[int, Json]:
        return 200, self._paged("import_errors", self.import_errors, query)

    def list_tasks(self, *_: str, **__: Json) -> tuple[int, Json]:
        tasks = [{"task_id": one, "downstream_task_ids": on} for one, on in self.edges.items()]
        return 200, {"tasks": tasks, "total_entries": len(tasks)}

    def post(self, body: Json, **_: Json) -> tuple[int, Json]:
        if body["dag_run_id"] in self.runs:
            return 409, {"detail": "DagRun already exists"}
        return 200, self.begin(body["dag_run_id"], "queued", conf=body["conf"], note=body["note"])

    def run(self, run_id: str, body: Json, **_: Json) -> tuple[int, Json]:
        if run_id not in self.runs:
            return 404, {"detail": "The DagRun was not found"}
        if body is not None:
            self.runs[run_id].update(body)
        return 200, self.runs[run_id]

    def delete(self, run_id: str, **_: Json) -> tuple[int, Json]:
        if run_id not in self.runs:
            return 404, {"detail": "The DagRun was not found"}
        if self.runs[run_id]["state"] == "running":
            return 409, {"detail": "cannot be deleted in running state"}
        del self.runs[run_id]
        return 204, None

    def instances(self, run_id: str, query: Json, **_: Json) -> tuple[int, Json]:
        wanted = query.get("task_id")
        found = [one for one in self.tasks if wanted in (None, one["task_id"])]
        return 200, self._paged("task_instances", found, query)

    def instance(self, run_id: str, name: str, body: Json, **_: Json) -> tuple[int, Json]:
        for one in self.tasks:
            if one["task_id"] == name:
                one.update(state=body["new_state"])
        return 200, {}

    def xcom(self, run_id: str, name: str, query: Json, **_: Json) -> tuple[int, Json]:
        key = name if query["map_index"] == "-1" else f"{name}[{query['map_index']}]"
        if key not in self.returned:
            return 404, {"detail": "XCom entry not found"}
        return 200, {"key": "return_value", "value": json.dumps(self.returned[key])}

    def log(self, run_id: str, name: str, number: str, **_: Json) -> tuple[int, Json]:
        content = self.logs.get(f"{name}/{number}")
        if content is None:
            return 404, {"detail": "TaskInstance not found"}
        return 200, {"content": content, "continuation_token": None}

    def of_tries(self, run_id: str, name: str, **_: Json) -> tuple[int, Json]:
        return 200, {"task_instances": self.tries.get(name, [])}

    def clear(self, body: Json, **_: Json) -> tuple[int, Json]:
        wanted = [one if isinstance(one, list) else [one, None] for one in body["task_ids"]]
        cleared = [
            one
            for one in self.tasks
            for name, index in wanted
            if one["task_id"] == name and index in (None, one["map_index"])
        ]
        answer = [dict(one) for one in cleared] + self.also_cleared
        if not body["dry_run"]:
            for one in cleared:
                one["state"] = None
            self.runs[body["dag_run_id"]]["state"] = "queued"
        return 200, {"task_instances": answer}

    def question(self, run_id: str, name: str, body: Json, **_: Json) -> tuple[int, Json]:
        if name not in self.questions:
            return 404, {"detail": "no such question"}
        return 200, self.questions[name]

    def _paged(self, name: str, entries: list[Json], query: Json) -> Json:
        start, most = int(query["offset"]), min(int(query["limit"]), self.page)
        return {name: entries[start : start + most], "total_entries": len(entries)}


_RUN = r"/dags/[^/]*/dagRuns/([^/]*)"
_TASK = rf"{_RUN}/taskInstances/([^/]*)"
_ROUTES: tuple[tuple[str, t.Callable[..., tuple[int, Json]]], ...] = (
    (r"POST /auth/token", FakeAirflow.login),
    (r"GET /dags", FakeAirflow.dags),
    (r"(?:GET|PATCH) /dags/([^/]*)", FakeAirflow.dag),
    (r"DELETE /dags/([^/]*)", FakeAirflow.delete_dag),
    (r"GET /dags/[^/]*/dagRuns", FakeAirflow.list_runs),
    (r"GET /dagSources/([^/]*)", FakeAirflow.source),
    (r"GET /importErrors", FakeAirflow.errors),
    (r"GET /dags/([^/]*)/tasks", FakeAirflow.list_tasks),
    (r"POST /dags/[^/]*/dagRuns", FakeAirflow.post),
    (rf"(?:GET|PATCH) {_RUN}", FakeAirflow.run),
    (rf"DELETE {_RUN}", FakeAirflow.delete),
    (rf"GET {_RUN}/taskInstances", FakeAirflow.instances),
    (rf"PATCH {_TASK}(?:/-?\d+)?", FakeAirflow.instance),
    (rf"GET {_TASK}/xcomEntries/return_value", FakeAirflow.xcom),
    (rf"GET {_TASK}/logs/(\d+)", FakeAirflow.log),
    (rf"GET {_TASK}(?:/\d+)?/tries", FakeAirflow.of_tries),
    (r"POST /dags/[^/]*/clearTaskInstances", FakeAirflow.clear),
    (rf"(?:GET|PATCH) {_TASK}/-?\d+/hitlDetails", FakeAirflow.question),
)
