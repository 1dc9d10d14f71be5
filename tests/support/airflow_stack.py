"""A whole Airflow on this machine: API server, scheduler, DAG processor, triggerer, PostgreSQL.

It is driven as users drive theirs: files into the folder of DAGs, all else over REST.

SQLite would not do. The API server writes to its log of actions in its event loop, so that it waits
there for the lock of a transaction which itself ends in that loop: nothing is answered until one of
them has waited for as long as it may.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_runs import (
    LIMIT_S,
    AirflowError,
    AirflowRun,
    Instance,
    Json,
    connection,
    environment,
    python,
    run_obstacle,
)
from tests.support.ports import free_port
from tests.support.postgresql import PostgresqlServer, obstacle as database_obstacle

# No servers of logs: they would listen at every address, and the files lie on this machine.
_PARTS = {
    "api-server": (),
    "scheduler": ("--skip-serve-logs",),
    "dag-processor": (),
    "triggerer": ("--skip-serve-logs",),
}
_REQUEST = "[http.access]"
_POLL_S = 0.3
_ANSWER_S = 600
"""How long the API may take to answer."""
_DATABASE_FAULT = "Database error"
"""What the API says with a 500 where the database has failed: PostgreSQL breaks off one of two
transactions that wait for each other. No question of ours does harm where it is asked again."""
_PAGE = 100
_ENDED = ("success", "failed")


class ConflictError(AirflowError):
    """What was asked for is there already."""


def obstacle() -> str | None:
    """Why there can be no whole Airflow here, or None."""
    found = run_obstacle() or database_obstacle()
    if found is None and not any(python().parents[1].glob("lib/*/site-packages/psycopg2")):
        return "Airflow has no driver of PostgreSQL here: `make airflow` installs it"
    return found


class AirflowStack:
    """The processes of Airflow, each in a session of its own. Use it in a ``with`` statement.

    Parameters
    ----------
    home
        A folder for all its files.
    cluster
        Where pods run.
    settings
        More variables of the environment.
    start_s
        How long it may take until it answers.
    port
        Where it answers on loopback; None for a free one.
    """

    def __init__(
        self,
        home: Path,
        cluster: FakeCluster | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        start_s: float = LIMIT_S,
        port: int | None = None,
    ) -> None:
        self.home = home
        self.cluster = cluster
        self._start_s = start_s
        api = port or free_port()
        self.address = f"http://127.0.0.1:{api}"
        self._environment = {
            **environment(home),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(api),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": "k" * 32,
            "AIRFLOW__API_AUTH__JWT_SECRET": "s" * 64,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.address}/execution/",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "1",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "2",
            "AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "1",
            **(settings or {}),
        }
        if cluster is not None:
            self._environment["AIRFLOW_CONN_KUBERNETES_DEFAULT"] = json.dumps(connection(cluster))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._database = PostgresqlServer(home / "postgresql.log")
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> AirflowStack:
        (self.home / "dags").mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            opened.enter_context(self._database)
            opened.callback(self._end)
            self._begin()
            self._opened = opened.pop_all()
        return self

    def _begin(self) -> None:
        url = f"postgresql+psycopg2://{self._database.address}"
        self._environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = url
        with open(self.home / "migrate.log", "wb") as log:
            done = subprocess.run(
                [str(python()), "-m", "airflow", "db", "migrate"],
                env=self._environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=self._start_s,
                check=False,
            )
        if done.returncode:
            raise AirflowError(self._tail("migrate"))
        for part in _PARTS:
            with open(self.home / f"{part}.log", "wb") as log:
                self._processes[part] = self._start(part, log)
        self.wait_healthy()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, and those that they have started."""
        self._opened.close()

    def _end(self) -> None:
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._processes.values():
            process.wait()

    def restart(self, part: str) -> None:
        """End one of the processes at once, and start it anew."""
        os.killpg(self._processes[part].pid, signal.SIGKILL)
        self._processes[part].wait()
        with open(self.home / f"{part}.log", "ab") as log:
            self._processes[part] = self._start(part, log)

    def run(
        self,
        text: str,
        dag_id: str,
        *,
        conf: Mapping[str, Any] | None = None,
        limit_s: float = LIMIT_S,
    ) -> AirflowRun:
        """Upload the text of a DAG file, run the DAG to its end and read what it has given."""
        before = len(self.cluster.pods()) if self.cluster else 0
        limit = time.monotonic() + limit_s
        self.upload(text, dag_id)
        self.wait_visible(dag_id, limit_s=limit_s)
        self.unpause(dag_id)
        run_id = self.trigger(dag_id, conf)
        timed_out = False
        try:
            self.wait(dag_id, run_id, limit_s=limit - time.monotonic())
        except TimeoutError:
            timed_out = True
        return self.read(dag_id, run_id, before, timed_out=timed_out)

    def upload(self, text: str, name: str) -> None:
        """Put a file into the folder of DAGs, never half of it."""
        folder = self.home / "dags"
        hidden = folder / f".{name}.new"
        hidden.write_text(text, encoding="utf-8")
        os.replace(hidden, folder / f"{name}.py")

    def wait_visible(self, dag_id: str, *, limit_s: float = LIMIT_S) -> None:
        """Wait until a DAG is known, and not taken to be gone.

        Raises
        ------
        AirflowError
            A file cannot be imported.
        """

        def visible() -> bool:
            errors = self.call("GET", "/importErrors")["import_errors"]
            if errors:
                raise AirflowError("\n".join(one["stack_trace"] for one in errors))
            dag = self.call("GET", f"/dags/{_quoted(dag_id)}", absent_ok=True)
            return dag is not None and not dag.get("is_stale")

        self._until(visible, limit_s, f"DAG {dag_id} is not seen")

    def unpause(self, dag_id: str) -> None:
        self.call("PATCH", f"/dags/{_quoted(dag_id)}", {"is_paused": False})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None) -> str:
        """Start a run and return its id.

        A DAG is taken to be gone for a moment where a slow machine reads its file late; nothing is
        begun then, and it is asked for again.
        """
        run_id = f"test-{uuid.uuid4().hex[:12]}"
        sent = {"dag_run_id": run_id, "logical_date": None, "conf": dict(conf or {})}
        path = f"/dags/{_quoted(dag_id)}/dagRuns"

        def begun() -> bool:
            try:
                return self.call("POST", path, sent, absent_ok=True) is not None
            except ConflictError:  # an attempt before it has begun the run
                return True

        self._until(begun, LIMIT_S, f"DAG {dag_id} is not there")
        return run_id

    def wait(self, dag_id: str, run_id: str, *, limit_s: float = LIMIT_S) -> str:
        """Wait for the end of a run and return its state."""
        path, state = self._run_path(dag_id, run_id), ""

        def ended() -> bool:
            nonlocal state
            state = self.call("GET", path)["state"]
            return state in _ENDED

        self._until(ended, limit_s, f"run {run_id} of {dag_id} does not end")
        return state

    def age(self, dag_id: str, run_id: str, by_s: float) -> None:
        """Have a run that is under way begun so much earlier."""
        change = "UPDATE dag_run SET start_date = start_date - :'by'::interval"
        place = "WHERE dag_id = :'dag' AND run_id = :'run' AND start_date IS NOT NULL RETURNING id"
        values = {"by": f"{by_s} seconds", "dag": dag_id, "run": run_id}
        changed = self._database.execute(f"{change} {place}", **values).split()
        assert len(changed) == 1, (dag_id, run_id)

    def instances(self, dag_id: str, run_id: str) -> list[Json]:
        """The task instances of a run."""
        path = self._run_path(dag_id, run_id) + "/taskInstances"
        return list(self._pages(path, "task_instances"))

    def is_put_off(self, dag_id: str, task: str) -> bool:
        """Return whether the scheduler knows that a task waits for a trigger and holds no process.

        A task that goes on before that is taken by the local executor for one that has ended.
        """
        head = f"TaskInstance Finished: dag_id={dag_id}, task_id={task},"
        lines = (self.home / "scheduler.log").read_text(errors="replace").splitlines()
        return any(head in line for line in lines)

    def log(self, dag_id: str, run_id: str, instance: Instance, attempt: int) -> str:
        """What an attempt of a task has written."""
        task, index = instance
        path = f"{self._run_path(dag_id, run_id)}/taskInstances/{_quoted(task)}/logs/{attempt}"
        found = self.call("GET", f"{path}?full_content=true&map_index={index}")
        return "\n".join(
            one if isinstance(one, str) else str(one["event"]) for one in found["content"]
        )

    def xcoms(self, dag_id: str, run_id: str, instance: Instance) -> dict[str, Any]:
        """What a task has pushed, by key."""
        task, index = instance
        path = f"{self._run_path(dag_id, run_id)}/taskInstances/{_quoted(task)}/xcomEntries"
        found: dict[str, Any] = {}
        for entry in self._pages(f"{path}?map_index={index}", "xcom_entries"):
            key = entry["key"]
            one = f"{path}/{_quoted(key)}?map_index={index}&deserialize=true"
            found[key] = self.call("GET", one)["value"]
        return found

    def call(
        self, method: str, path: str, sent: Json | None = None, *, absent_ok: bool = False
    ) -> Any:
        """Ask the REST API for something, given the path below ``/api/v2``.

        It is asked again where the database has failed.
        """
        limit = time.monotonic() + _ANSWER_S
        while True:
            code, text = self._answer(method, path, sent)
            if code < 400:
                return json.loads(text) if text else None
            if absent_ok and code == 404:
                return None
            if code == 409:
                raise ConflictError(f"{method} {path}: {text}")
            if code != 500 or _DATABASE_FAULT not in text or time.monotonic() > limit:
                raise AirflowError(f"{method} {path}: {code} {text}")
            time.sleep(_POLL_S)

    def read(
        self, dag_id: str, run_id: str, before: int = 0, *, timed_out: bool = False
    ) -> AirflowRun:
        """Return a run; `before` are the pods that there were when it started."""
        found = {(one["task_id"], one["map_index"]): one for one in self.instances(dag_id, run_id)}
        logs, xcoms = {}, {}
        for instance, one in found.items():
            attempts = range(1, one["try_number"] + 1)
            parts = [self.log(dag_id, run_id, instance, attempt) for attempt in attempts]
            logs[instance] = "\n".join(parts)
            for key, value in self.xcoms(dag_id, run_id, instance).items():
                xcoms[(*instance, key)] = value
        return AirflowRun(
            state=self.call("GET", self._run_path(dag_id, run_id))["state"],
            run_id=run_id,
            states={key: one["state"] for key, one in found.items()},
            tries={key: one["try_number"] for key, one in found.items()},
            map_labels={key: one["rendered_map_index"] for key, one in found.items()},
            all_xcoms=xcoms,
            logs=logs,
            log="\n".join(self._tail(part) for part in _PARTS),
            pods=tuple(self.cluster.pods()[before:]) if self.cluster else (),
            timed_out=timed_out,
        )

    def _answer(self, method: str, path: str, sent: Json | None) -> tuple[int, str]:
        """Ask the REST API once, and return the status and the text of its answer."""
        request = urllib.request.Request(
            f"{self.address}/api/v2{path}",
            None if sent is None else json.dumps(sent).encode(),
            {"Content-Type": "application/json", "Accept": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def _start(self, part: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(python()), "-m", "airflow", part, *_PARTS[part]],
            env=self._environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def wait_healthy(self) -> None:
        """Wait until all parts answer."""

        def healthy() -> bool:
            try:
                found = self.call("GET", "/monitor/health")
            except (OSError, AirflowError):  # it does not listen yet
                return False
            parts = ("metadatabase", "scheduler", "triggerer", "dag_processor")
            return all((found.get(part) or {}).get("status") == "healthy" for part in parts)

        self._until(healthy, self._start_s, "Airflow does not start")

    def _until(self, done: Any, limit_s: float, what: str) -> None:
        limit = time.monotonic() + limit_s
        while not done():
            for part, process in self._processes.items():
                if process.poll() is not None:
                    raise AirflowError(f"{part} has ended:\n{self._tail(part)}")
            if time.monotonic() > limit:
                raise TimeoutError(f"{what} in {limit_s:.0f} s")
            time.sleep(_POLL_S)

    def _pages(self, path: str, field: str) -> Iterator[Json]:
        offset, sign = 0, "&" if "?" in path else "?"
        while True:
            page = self.call("GET", f"{path}{sign}limit={_PAGE}&offset={offset}")
            yield from page[field]
            offset += _PAGE
            if offset >= page["total_entries"]:
                return

    def _run_path(self, dag_id: str, run_id: str) -> str:
        return f"/dags/{_quoted(dag_id)}/dagRuns/{_quoted(run_id)}"

    def _tail(self, part: str) -> str:
        """Return the last lines of a log, without those of each request that was answered."""
        lines = (self.home / f"{part}.log").read_text(errors="replace").splitlines()
        return "\n".join([one for one in lines if _REQUEST not in one][-40:])


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")
