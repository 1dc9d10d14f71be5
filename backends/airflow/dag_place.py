"""The DAG that a run needs: in place already, or a file that is to be put there."""

from __future__ import annotations

import ast
import typing as t
from collections.abc import Callable, Mapping

from couler.backends.airflow.connecting import Access
from couler.backends.airflow.dag_folder import put_file, read_file, remove_file
from couler.backends.airflow.parsing import DagFile, known_errors, wait_until_read
from couler.backends.airflow.rest import AirflowApi
from couler.backends.airflow.schedules import file_of
from couler.backends.base import Artifact
from couler.backends.remote import Json
from couler.errors import ConfigurationError, RefusedError
from couler.ir.workflow import Workflow

_UNDER_WAY = ("running", "queued")
_BETWEEN_S = 1.0
"""How long to wait between two looks at a file that is to be read, at most."""

Compile: t.TypeAlias = Callable[[Workflow], Artifact]


def is_same(text: str | None, other: str) -> bool:
    """Return whether two DAG files are the same, but for the defaults of parameters."""
    if text is None or text == other:
        return text == other
    try:
        return ast.dump(_Defaultless().visit(ast.parse(text))) == ast.dump(
            _Defaultless().visit(ast.parse(other))
        )
    except SyntaxError:
        return False


class _Defaultless(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "Param":
            node.args = []
        return self.generic_visit(node)


class DagPlace:
    """The place of DAG files, in the folder and in Airflow."""

    def __init__(self, api: AirflowApi, access: Access, compile: Compile) -> None:
        self._api = api
        self._access = access
        self._compile = compile

    def for_run(self, workflow: Workflow, artifact: Artifact) -> DagFile | None:
        """The file that a run needs, which may be there; None for a DAG with its schedule."""
        name = artifact.files[0].name
        dag = self._api.dag(workflow.name)
        if dag is None or not dag.get("timetable_summary") or self._is_gone(dag, name):
            return DagFile(workflow, name, self._once(workflow, artifact))
        if not is_same(self._text(workflow.name, name), artifact.files[0].text):
            raise RefusedError(
                f"airflow: the DAG {workflow.name} has a schedule, and is not of this workflow as "
                "it is now; a run of it would take the schedule's place. Renew that with "
                "`couler schedule put`, or give the workflow another name"
            )
        if dag.get("is_paused"):
            raise RefusedError(
                f"airflow: the schedule of {workflow.name} is paused, and Airflow runs nothing of "
                f"a DAG that is paused. `couler schedule resume {workflow.name}` lets it go on; "
                "to run it once without, give the workflow another name"
            )
        text = read_file(self._folder, name) if dag.get("is_stale") else None
        if text is not None:  # nothing is begun until Airflow has read it again
            self.put(DagFile(workflow, name, text))
        return None

    def is_there(self, file: DagFile) -> bool:
        """Return whether a file is in its place, and read."""
        dag = self._api.dag(file.dag_id)
        if dag is None or dag.get("is_stale") or self.former(file) != file.text:
            return False
        return self._api.source(file.dag_id) in (None, file.text)

    def former(self, file: DagFile) -> str | None:
        """Return the text of what lies in the place of a file."""
        return read_file(self._folder, file.name)

    def is_of(self, text: str, workflow: Workflow) -> bool:
        """Return whether a text is that of the DAG file of a workflow, with its schedule or not."""
        once = workflow.model_copy(update={"schedule": None})
        return any(text == self._compile(one).files[0].text for one in (workflow, once))

    def put(self, file: DagFile) -> None:
        """Put a file in its place, and wait until Airflow has read it."""
        known = known_errors(self._api, file.name)
        is_known = self._api.dag(file.dag_id) is not None
        is_new = put_file(self._folder, file.name, file.text)
        # What cannot be imported and did not change will not be told anew.
        before = known if is_new else {}
        wait_until_read(
            self._api,
            file,
            before,
            replaces=is_new and is_known,
            limit_s=self._access.parse_timeout_s,
            between_s=min(self._access.poll_s, _BETWEEN_S),
        )

    def put_back(self, file: DagFile, former: str | None) -> None:
        """Put what was in the place of a file there again; nobody waits until it is read."""
        if former is None:
            remove_file(self._folder, file.name)
        else:
            put_file(self._folder, file.name, former)

    def others_under_way(self, dag_id: str, run_id: str | None = None) -> list[str]:
        """Return the runs of a DAG that are under way, but for one."""
        found = [one for state in _UNDER_WAY for one in self._api.runs(dag_id, state)]
        return [one for one in found if one != run_id]

    def refuse_to_change(self, file: DagFile) -> None:
        """Refuse to put a file in the place of another one with which runs are under way."""
        former = self.former(file)
        if former is None:  # Airflow goes on for a while with one that was removed
            former = self._api.source(file.dag_id)
        if former in (None, file.text) or self._api.dag(file.dag_id) is None:
            return
        others = sorted(self.others_under_way(file.dag_id))
        if others:
            raise RefusedError(
                f"airflow: runs of another DAG file of {file.dag_id} are under way, and would go "
                f"on with the steps of this one: {', '.join(others)}. Wait until they have ended, "
                "cancel them (`couler cancel`), or give the workflow another name"
            )

    @property
    def _folder(self) -> str:
        if self._access.dags is None:
            raise ConfigurationError(
                "airflow: the target does not say where DAG files go. Set `dags` to the folder "
                "that Airflow's DAG processor reads, or to an address of it: s3://bucket/dags"
            )
        return self._access.dags

    def _is_gone(self, dag: Mapping[str, Json], name: str) -> bool:
        """Return whether the file of a DAG was removed."""
        if file_of(dag) != name:
            return bool(dag.get("is_stale"))
        return read_file(self._folder, name) is None

    def _once(self, workflow: Workflow, artifact: Artifact) -> str:
        """Return the text of a DAG file that nothing begins by itself."""
        if workflow.schedule is None:
            return artifact.files[0].text
        return self._compile(workflow.model_copy(update={"schedule": None})).files[0].text

    def _text(self, dag_id: str, name: str) -> str | None:
        """Return the text of a DAG; where the account may not see it, that in the folder."""
        return self._api.source(dag_id) or read_file(self._folder, name)
