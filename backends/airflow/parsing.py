"""Waiting until Airflow has read a DAG file, and telling why it cannot."""

from __future__ import annotations

import ast
import re
import time
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping

from couler.backends.airflow.rest import AirflowApi
from couler.backends.remote import Json
from couler.errors import EngineError, RefusedError
from couler.ir.workflow import Group, Step, Workflow

_ERROR = re.compile(r"[A-Za-z_][\w.]*(: |$)")
_TASK_ID = re.compile(r"\btask_id: ([\w.-]+)")


class DagFile(t.NamedTuple):
    """A DAG file that is to be read."""

    workflow: Workflow
    name: str
    text: str

    @property
    def dag_id(self) -> str:
        """The id of its DAG."""
        return self.workflow.name


def wait_until_read(
    api: AirflowApi,
    file: DagFile,
    before: Mapping[int, Json],
    *,
    replaces: bool,
    limit_s: float,
    between_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until Airflow has the DAG of a file as it is now."""
    until = time.monotonic() + limit_s
    has_asked = False
    times: list[str] = []
    """When the DAG was recorded, since there is nothing against its being new."""
    while True:
        dag = api.dag(file.dag_id)
        source = None if dag is None else api.source(file.dag_id)
        if dag is not None and _is_read(file, dag, source):
            recorded = (api.dag(file.dag_id) or dag).get("last_parsed_time")
            if recorded is not None and recorded not in times:
                times.append(recorded)
                has_asked = False
            enough = 3 if source is None else 2
            if not replaces or recorded is None or len(times) >= enough:
                return
        for number, error in known_errors(api, file.name).items():
            if before.get(number) != error:
                raise RefusedError(import_error(file, error["stack_trace"]))
        if dag is not None and not has_asked and dag.get("file_token"):
            api.parse_soon(dag["file_token"])
            has_asked = True
        if time.monotonic() > until:
            raise EngineError(_late(file, dag, limit_s))
        sleep(between_s)


def known_errors(api: AirflowApi, name: str) -> dict[int, Json]:
    """Return the errors of import of files of a name, by their numbers."""
    return {
        int(one["import_error_id"]): {key: one.get(key) for key in ("timestamp", "stack_trace")}
        for one in api.import_errors()
        if str(one.get("filename")).rpartition("/")[2] == name
    }


def _is_read(file: DagFile, dag: Mapping[str, Json], source: str | None) -> bool:
    """Return whether a DAG can be that of the file as it is now."""
    if source is None:
        return not dag.get("has_import_errors") and not dag.get("is_stale")
    return source == file.text and not dag.get("is_stale")


def _late(file: DagFile, dag: Mapping[str, Json] | None, limit_s: float) -> str:
    if dag is None:
        return (
            f"airflow: the DAG {file.dag_id} is not there after {limit_s:.0f} s. Is `dags` of the "
            "target the folder that its DAG processor reads? It looks for new files every "
            "dag_processor.refresh_interval seconds, 300 by default"
        )
    where = str(dag.get("relative_fileloc") or dag.get("fileloc"))
    if where.rpartition("/")[2] != file.name:
        return (
            f"airflow: the DAG {file.dag_id} is that of another file, {where}. Give the workflow "
            "another name"
        )
    return (
        f"airflow: the DAG {file.dag_id} is still the former one after {limit_s:.0f} s; its DAG "
        "processor has not read the new file"
    )


# errors of import ----------------------------------------------------------------------------


def import_error(file: DagFile, trace: str) -> str:
    """A message about an error of import, with the step that it is about if that is known."""
    why = _reason(trace)
    line = _line_of(file.name, trace)
    named = _TASK_ID.search(why)
    step = None if line is None else step_at(file, line)
    if step is None and named is not None:  # Airflow shows the innermost calls only
        step = _step_named(file.workflow, named[1])
    about = f"airflow cannot import {file.name}"
    if line is not None:
        about += f", line {line}"
    if step is not None:
        source = f" ({step.source})" if step.source is not None else ""
        about += (
            f', which is of the step "{step.name}"{source}'
            if line is not None
            else (f': the step "{step.name}"{source}')
        )
    return f"{about}: {why}"


def _reason(trace: str) -> str:
    """Return what a trace ends with: the error, with all of its lines as one."""
    lines = [line.rstrip() for line in trace.splitlines() if line.strip()]
    first = max((at for at, line in enumerate(lines) if _ERROR.match(line)), default=-1)
    return " ".join(line.strip() for line in lines[first:]) or "no reason is given"


def _line_of(name: str, trace: str) -> int | None:
    """Return the last line of the file that a trace names."""
    found = None
    for line in trace.splitlines():
        head, _, tail = line.strip().partition(f'{name}", line ')
        if head.startswith('File "') and tail:
            number = tail.partition(",")[0]
            found = int(number) if number.isdecimal() else found
    return found


def step_at(file: DagFile, line: int) -> Step | None:
    """Return the step whose task a line of the file makes; None if there is none, or several."""
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return None
    return _step_of(file.workflow, _names_at(tree, line))


def _step_of(workflow: Workflow, names: Iterable[str]) -> Step | None:
    """Return the step of the innermost of several names, of which some are of the compiler's."""
    steps, found = workflow.steps, None
    for name in names:
        step = next((one for one in steps if one.name == name), None)
        if step is not None:
            found = step
            steps = step.action.steps if isinstance(step.action, Group) else ()
    return found


def _step_named(workflow: Workflow, task_id: str) -> Step | None:
    """Return the step of a task, of which Airflow may not tell the groups; None for several."""
    name = task_id.rpartition(".")[2]
    found = [step for step in _all_steps(workflow.steps) if step.name == name]
    return found[0] if len(found) == 1 else _step_of(workflow, task_id.split("."))


def _all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _all_steps(step.action.steps if isinstance(step.action, Group) else ())


def _names_at(tree: ast.AST, line: int) -> Iterator[str]:
    """Yield the names of the groups around a line, the outermost first, and of the task there."""
    for node in ast.iter_child_nodes(tree):
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is None or last is None or not first <= line <= last:
            continue
        if isinstance(node, ast.With):
            for item in node.items:
                yield from _first_text(item.context_expr)
        elif isinstance(node, ast.Assign | ast.Expr):
            yield from _task_ids(node)
            return
        yield from _names_at(node, line)
        return


def _first_text(call: ast.expr) -> Iterator[str]:
    """Yield the name of a group, which is the first argument of what makes it."""
    if isinstance(call, ast.Call) and call.args:
        first = call.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def _task_ids(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.keyword) and node.arg == "task_id":
            given = node.value
            yield from [str(given.value)] if isinstance(given, ast.Constant) else []
