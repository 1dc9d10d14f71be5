"""Runs the text of a DAG file under Airflow, whose environment is not that of the tests.

`make airflow` makes the environment, see `obstacle`. A `Worker` is one process of it that loads
files and runs them with ``dag.test``, against an emulated cluster; `tests.support.airflow_stack`
has the real scheduler. Both give an `AirflowRun`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.kubernetes.cluster import FakeCluster, PodRecord
from tests.fakes.kubernetes.container import sandbox_obstacle

_ROOT = Path(__file__).parents[2]
_VARIABLE = "COULER_AIRFLOW"
"""Names a folder with the environments, if they do not lie in the checkout."""

_PROGRAM = Path(__file__).with_name("airflow_worker.py")
_LAST_WORD_S = 120.0
LIMIT_S = 900.0
"""How long a request may take, and what else is waited for: a guard against what hangs, no measure.

The machine may be busy, or stand still for a minute or two.
"""
RETURNED = "return_value"

Json = dict[str, Any]
Instance = tuple[str, int]
"""The id of a task and its map index, -1 without a map."""


class AirflowError(Exception):
    """Airflow itself cannot go on; this says nothing about the DAG."""


def python(*, old: bool = False) -> Path:
    """The interpreter of Airflow's environment."""
    folder = Path(os.environ.get(_VARIABLE, _ROOT))
    return folder / (".venv-airflow-old" if old else ".venv-airflow") / "bin" / "python"


def obstacle(*, old: bool = False) -> str | None:
    """Why files cannot be loaded here, or None."""
    if not (python(old=old).parents[1] / ".setup-done").exists():
        return f"no Airflow here: `make {'airflow-old' if old else 'airflow'}` installs it"
    return None


def run_obstacle() -> str | None:
    """Why files cannot be run here, or None."""
    return obstacle() or sandbox_obstacle()


@dataclass(frozen=True)
class Loaded:
    """What Airflow makes of a file."""

    errors: Mapping[str, str]
    """Errors of import, by the name of the file."""
    warnings: Mapping[str, list[str]]
    tasks: Mapping[str, list[str]]
    """The ids of the tasks of each DAG."""
    serialized: Mapping[str, Json]
    """What Airflow writes of each DAG to its database."""
    round_trip: bool
    """Whether it reads back with the same tasks, edges and rules, for all DAGs."""


@dataclass(frozen=True)
class AirflowRun:
    """A run of a DAG that has ended, or whose time was up."""

    state: str
    states: Mapping[Instance, str | None]
    tries: Mapping[Instance, int]
    map_labels: Mapping[Instance, str | None]
    """What ``map_index_template`` gives."""
    all_xcoms: Mapping[tuple[str, int, str], Any]
    logs: Mapping[Instance, str]
    log: str
    """All that Airflow has written; of a real stack, what its processes have."""
    pods: tuple[PodRecord, ...]
    timed_out: bool = False
    run_id: str = ""
    rendered: Mapping[Instance, Json] = field(default_factory=dict)
    """What Airflow shows as rendered templates; the real stack is not asked for it."""

    @property
    def xcoms(self) -> dict[Instance, Any]:
        """What tasks have returned."""
        return {
            (task, index): value
            for (task, index, key), value in self.all_xcoms.items()
            if key == RETURNED
        }

    def pods_of(self, task: str) -> list[PodRecord]:
        """The pods that a task has started."""
        return [pod for pod in self.pods if pod.labels.get("task_id") == task]


def connection(cluster: FakeCluster) -> Json:
    """Airflow's connection to a cluster."""
    return {
        "conn_type": "kubernetes",
        "extra": {
            "kube_config_path": str(cluster.kubeconfig),
            "in_cluster": False,
            "namespace": "default",
        },
    }


_PATIENCE = {
    "AIRFLOW__API__WORKER_TIMEOUT": "3600",
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "600",
    "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "600",
    "AIRFLOW__DAG_PROCESSOR__HEALTH_CHECK_THRESHOLD": "3600",
    "AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": "86400",
    "AIRFLOW__DATABASE__MAX_DB_RETRIES": "20",
    "AIRFLOW__EXECUTION_API__JWT_EXPIRATION_TIME": "86400",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "3600",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "3600",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "3600",
    "AIRFLOW__TRIGGERER__RUNNER_HEALTH_CHECK_THRESHOLD": "3600",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "3600",
    "AIRFLOW__WORKERS__EXECUTION_API_RETRIES": "30",
    "AIRFLOW__WORKERS__EXECUTION_API_RETRY_WAIT_MAX": "10",
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "600",
    "AIRFLOW__WORKERS__MAX_FAILED_HEARTBEATS": "1000",
}
"""Settings after which Airflow takes nothing for lost that is only slow.

By its own it gives up a DAG whose file was read 50 s after another look at it, a task that the API
server has answered later than after 5 s, and a process that was silent for 30 s.
"""


def environment(home: Path) -> dict[str, str]:
    """The environment of Airflow's processes, with its files below `home`."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    return {
        **kept,
        **_PATIENCE,
        "HOME": str(home),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}?timeout=600",
        "AIRFLOW__LOGGING__COLORED_CONSOLE_LOG": "False",
        "NO_COLOR": "1",
    }


@dataclass
class Worker:
    """A process of Airflow's environment that loads and runs files, one at a time.

    It starts with the first request, and anew after one that has gone wrong. Use it in a ``with``
    statement.
    """

    home: Path
    old: bool = False
    _process: subprocess.Popen[bytes] | None = None
    _requests: Any = None
    _replies: Any = None
    _log: Path = field(default_factory=Path)
    _starts: int = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def load(self, text: str, *, limit_s: float = LIMIT_S) -> Loaded:
        """Load the text of a DAG file."""
        with self._file(text) as file:
            found = self._ask({"do": "load", "file": str(file)}, limit_s)
        dags = found["dags"]
        return Loaded(
            errors=found["errors"],
            warnings=found["warnings"],
            tasks={name: dag["tasks"] for name, dag in dags.items()},
            serialized={name: dag["serialized"] for name, dag in dags.items()},
            round_trip=all(dag["round_trip"] for dag in dags.values()),
        )

    def run(
        self,
        text: str,
        dag_id: str,
        *,
        cluster: FakeCluster | None = None,
        conf: Mapping[str, Any] | None = None,
        has_pods: bool = True,
        connections: Mapping[str, Json] | None = None,
        limit_s: float = LIMIT_S,
    ) -> AirflowRun:
        """Run a DAG of a file to its end.

        Parameters
        ----------
        text
            The file.
        dag_id
            The DAG.
        cluster
            Where its pods run; what they need of secrets and claims must be there.
        conf
            The parameters of the run.
        has_pods
            Whether pods are pods; else their commands are run as processes, in less time, and have
            no output but the standard output.
        connections
            What Airflow knows besides the connection to the cluster.
        limit_s
            After so many seconds the run is given up, and `AirflowRun.timed_out` is set; the task
            that ran then counts as failed.

        Raises
        ------
        AirflowError
            The file cannot be loaded, or Airflow fails outside of the tasks.
        """
        before = len(cluster.pods()) if cluster else 0
        with self._file(text) as file:
            request = {
                "do": "run",
                "file": str(file),
                "dag_id": dag_id,
                "conf": dict(conf or {}),
                "connections": {
                    **({"kubernetes_default": connection(cluster)} if cluster else {}),
                    **(connections or {}),
                },
                "has_pods": has_pods,
            }
            found = self._ask(request, limit_s)
        written = self._log.read_bytes()
        tasks = {(one["task"], one["map_index"]): one for one in found["tasks"]}
        logs: dict[Instance, str] = {}
        for place in found["logs"]:
            part = written[place["from"] : place["to"]].decode(errors="replace")
            instance = place["task"], place["map_index"]
            logs[instance] = logs.get(instance, "") + part
        start, end = found["log"]
        return AirflowRun(
            state=found["state"],
            run_id=found["run_id"],
            states={key: one["state"] for key, one in tasks.items()},
            tries={key: one["tries"] for key, one in tasks.items()},
            map_labels={key: one["map_label"] for key, one in tasks.items()},
            all_xcoms={
                (one["task"], one["map_index"], one["key"]): one["value"] for one in found["xcoms"]
            },
            logs=logs,
            log=written[start:end].decode(errors="replace"),
            pods=tuple(cluster.pods()[before:]) if cluster else (),
            timed_out=found["timed_out"],
            rendered={(one["task"], one["map_index"]): one["fields"] for one in found["rendered"]},
        )

    def end_time(self) -> None:
        """Have the time limit of the task that runs be over, as Airflow's own clock does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGALRM)

    @contextlib.contextmanager
    def _file(self, text: str) -> Iterator[Path]:
        """The text in the folder of DAGs, alone: each run reads the whole folder."""
        folder = self.home / "dags"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"dag_{uuid.uuid4().hex[:8]}.py"
        file.write_text(text, encoding="utf-8")
        try:
            yield file
        finally:
            file.unlink()

    def _ask(self, request: Json, limit_s: float) -> Json:
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        late = not self._answers(limit_s)
        if late:
            self._process.send_signal(signal.SIGUSR1)
            if not self._answers(_LAST_WORD_S):
                self.stop()
                raise AirflowError(f"no answer in {limit_s} s:\n{self._tail()}")
        line = self._replies.readline()
        if not line:
            self.stop()
            raise AirflowError(f"Airflow's process has ended:\n{self._tail()}")
        if late:
            self.stop()  # what was broken off has left it in no good state
        found: Json = json.loads(line)
        if "error" in found:
            raise AirflowError(found["error"])
        return found

    def _answers(self, limit_s: float) -> bool:
        return bool(select.select([self._replies], [], [], limit_s)[0])

    def _start(self) -> None:
        if reason := obstacle(old=self.old):
            raise AirflowError(reason)
        self.stop()
        self._starts += 1
        self.home.mkdir(parents=True, exist_ok=True)
        self._log = self.home / f"worker-{self._starts}.log"
        requests, replies = os.pipe(), os.pipe()
        program = [str(python(old=self.old)), str(_PROGRAM)]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [*program, str(requests[0]), str(replies[1]), str(self._log)],
                env=environment(self.home),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(requests[0], replies[1]),
                start_new_session=True,
            )
        os.close(requests[0])
        os.close(replies[1])
        self._requests = open(requests[1], "w", encoding="utf-8")  # noqa: SIM115 - see `stop`
        self._replies = open(replies[0], encoding="utf-8")  # noqa: SIM115

    def stop(self) -> None:
        """End the process and all that it has started."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._process = None

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])
