"""Schedules on Airflow: DAGs that have a timetable, and whose files were put in place from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from couler.backends.airflow import ending
from couler.backends.airflow.dag_folder import has_file, remove_file
from couler.backends.airflow.rest import AirflowApi, RunApi, time_of
from couler.backends.airflow.versions import is_marked
from couler.backends.remote import Json, Scheduled
from couler.errors import ConfigurationError, RefusedError

_UNDER_WAY = ("queued", "running")  # in the order in which a run has them, or one is missed
_SHOWN = 3


class Schedules:
    """The schedules of an Airflow."""

    def __init__(self, api: AirflowApi, dags: str | None, *, between_s: float) -> None:
        self._api = api
        self._dags = dags
        self._between_s = between_s

    def all(self) -> Iterator[Scheduled]:
        """Yield what is in place."""
        for dag in self._api.scheduled_dags():
            if self._is_in_place(dag):
                yield self._scheduled(dag)

    def find(self, dag_id: str) -> Scheduled | None:
        """Return the schedule of a DAG, if there is one in place."""
        dag = self._api.dag(dag_id)
        if dag is None or not dag.get("timetable_summary") or not self._is_in_place(dag):
            return None
        return self._scheduled(dag)

    def is_in_place(self, dag_id: str) -> bool:
        """Return whether Airflow has a DAG from here, with a schedule or without."""
        dag = self._api.dag(dag_id)
        return dag is not None and self._is_in_place(dag)

    def _is_in_place(self, dag: Mapping[str, Json]) -> bool:
        """Whether a DAG is from a file of ours; Airflow lists a removed one for a while."""
        dag_id = str(dag["dag_id"])
        if dag.get("is_stale") or file_of(dag) != f"{dag_id}.py":
            return False
        if self._dags is not None and not has_file(self._dags, f"{dag_id}.py"):
            return False
        text = self._api.source(dag_id)
        return text is None or is_marked(text)

    def _scheduled(self, dag: Mapping[str, Json]) -> Scheduled:
        dag_id, is_paused = str(dag["dag_id"]), bool(dag.get("is_paused"))
        return Scheduled(
            dag_id,
            tuple(str(dag["timetable_summary"]).split(", ")),
            place_of(dag_id),
            is_paused=is_paused,
            last=self._api.last_scheduled(dag_id),
            next=None if is_paused else time_of(dag.get("next_dagrun_run_after")),
            message="airflow cannot import its file" if dag.get("has_import_errors") else None,
        )

    def remove(self, dag_id: str, *, with_runs: bool) -> None:
        """Take a DAG away, its file first, from which Airflow would make it anew."""
        if self._dags is None:
            raise ConfigurationError(
                "airflow: the target does not say where DAG files are, so that none can be "
                "removed. Set `dags` to the folder that Airflow's DAG processor reads"
            )
        dag = self._api.dag(dag_id)
        if dag is None:
            remove_file(self._dags, f"{dag_id}.py")
            return
        if with_runs:
            self._end(dag_id)  # a DAG that is paused would not end them
        self._api.pause(dag_id, paused=True)  # until Airflow misses the file
        left = self._under_way(dag_id)
        if left:
            self._api.pause(dag_id, paused=bool(dag.get("is_paused")))
            raise RefusedError(_refusal(dag_id, left))
        remove_file(self._dags, f"{dag_id}.py")
        if with_runs:
            self._api.delete_dag(dag_id)

    def _end(self, dag_id: str) -> None:
        for run in self._under_way(dag_id):
            ending.delete(RunApi(self._api, dag_id, run), between_s=self._between_s)

    def _under_way(self, dag_id: str) -> list[str]:
        runs = (run for state in _UNDER_WAY for run in self._api.runs(dag_id, state))
        return list(dict.fromkeys(runs))


def place_of(dag_id: str) -> dict[str, Json]:
    """Return where Airflow has the schedule of a DAG."""
    return {"dag_id": dag_id, "file": f"{dag_id}.py"}


def file_of(dag: Mapping[str, Json]) -> str:
    """Return the name of the file of a DAG."""
    return str(dag.get("relative_fileloc") or dag.get("fileloc")).rpartition("/")[2]


def _refusal(dag_id: str, runs: list[str]) -> str:
    named = ", ".join(runs[:_SHOWN]) + (", ..." if len(runs) > _SHOWN else "")
    return (
        f"airflow: runs of {dag_id} are under way, which cannot go on without its file: {named}. "
        "Wait until they have ended, or remove it with its runs"
    )
