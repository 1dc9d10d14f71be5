"""Runs on an Airflow elsewhere, by its REST API and its folder of DAGs, and logs of tasks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from couler.backends.airflow import ending
from couler.backends.airflow.connecting import Access
from couler.backends.airflow.dag_place import Compile, DagPlace
from couler.backends.airflow.instances import Found
from couler.backends.airflow.observing import Asked, Look, Memory, is_cancelled, look_again
from couler.backends.airflow.parsing import DagFile
from couler.backends.airflow.places import own_name
from couler.backends.airflow.rest import AirflowApi, RunApi
from couler.backends.airflow.restarting import to_clear
from couler.backends.airflow.run_note import digests, submitted, taken_up, unmarked
from couler.backends.airflow.schedules import Schedules, place_of
from couler.backends.airflow.task_states import Instance
from couler.backends.airflow.try_ends import first_line
from couler.backends.base import Artifact
from couler.backends.remote import (
    ENDS,
    Json,
    Observation,
    RemoteRun,
    Restart,
    Scheduled,
    Submission,
)
from couler.errors import EngineError, RefusedError
from couler.ir.diagnostics import did_you_mean
from couler.ir.parameters import check_entered
from couler.ir.semantics.wire import decode, encode
from couler.ir.serialize import run_digest
from couler.ir.walk import StepPath
from couler.ir.workflow import Suspend, Workflow
from couler.rest import say
from couler.rest.latest import Latest
from couler.rest.patience import Patience


class AirflowRemote:
    """Submits, follows and controls runs of an Airflow server."""

    def __init__(self, access: Access, compile: Compile) -> None:
        self._access = access
        self._api = AirflowApi(access.client())
        self._dags = DagPlace(self._api, access, compile)
        # What has ended is asked for as well: others can take it up again.
        self._latest: Latest[Look] = Latest(access.poll_s, lasts=lambda _: False)

    # beginning -------------------------------------------------------------------------------

    def submit(self, submission: Submission) -> Mapping[str, Json]:
        """Begin a run; see `couler.backends.remote.Remote.submit`."""
        workflow = submission.workflow
        run = RunApi(self._api, workflow.name, submission.run_id)
        place = self._place(workflow, submission.artifact, submission.run_id)
        digest = run_digest(workflow, submission.parameters)
        found = run.find()
        if found is None:
            conf = _conf(workflow, submission.parameters)
            file = self._dags.for_run(workflow, submission.artifact)
            if file is None:  # the DAG may have other defaults
                conf = _with_defaults(workflow, conf)
            else:
                self._dags.refuse_to_change(file)
                self._dags.put(file)
                self._api.pause(workflow.name, paused=False)
            found = run.begin(conf, submitted(digest))
        if found is not None and digest not in digests(str(found.get("note") or "")):
            raise RefusedError(
                f"airflow: the DAG {workflow.name} has a run {run.dag_run_id} already, of another "
                "workflow or with other parameters, submitted from elsewhere. Give this one "
                "another name (--name)"
            )
        return place

    def schedule(self, workflow: Workflow, artifact: Artifact) -> Mapping[str, Json]:
        """Put a scheduled workflow in place; see `couler.backends.remote.Scheduling.schedule`."""
        is_known = self._schedules.is_in_place(workflow.name)
        file = artifact.files[0]
        self._dags.put(DagFile(workflow, file.name, file.text))
        if _is_off(workflow) or not is_known:
            self._api.pause(workflow.name, paused=_is_off(workflow))
        return place_of(workflow.name)

    def schedules(self) -> Sequence[Scheduled]:
        """Return what was put in place from here and is still there, by its names."""
        return sorted(self._schedules.all(), key=lambda one: one.name)

    def find_schedule(self, name: str) -> Scheduled | None:
        """Return the schedule of a workflow, if there is one that was put from here."""
        return self._schedules.find(name)

    def pause(self, place: Mapping[str, Json]) -> None:
        """Let the schedule begin no more runs; those that are under way stand still as well."""
        self._api.pause(str(place["dag_id"]), paused=True)

    def unpause(self, place: Mapping[str, Json]) -> None:
        """Let the schedule begin runs again."""
        self._api.pause(str(place["dag_id"]), paused=False)

    def unschedule(self, place: Mapping[str, Json], *, with_runs: bool = False) -> None:
        """Take a schedule away; see `couler.backends.remote.Scheduling.unschedule`."""
        self._schedules.remove(str(place["dag_id"]), with_runs=with_runs)

    @property
    def _schedules(self) -> Schedules:
        return Schedules(self._api, self._access.dags, between_s=self._access.poll_s)

    def _place(self, workflow: Workflow, artifact: Artifact, run_id: str) -> dict[str, Json]:
        return {
            "dag_id": workflow.name,
            "dag_run_id": run_id,
            "file": artifact.files[0].name,
        }

    # watching --------------------------------------------------------------------------------

    def observe(self, run: RemoteRun) -> Observation:
        """Return how a run stands; see `couler.backends.remote.Remote.observe`."""
        asked = Asked(_run_api(self._api, run), run.workflow)
        self._latest.note(_key(run), asked)
        return asked.observation()

    def follow(self, run: RemoteRun) -> Iterator[Observation]:
        """Yield how a run stands until it is over; see `couler.backends.remote.Remote.follow`."""
        patience = Patience(total_s=self._access.patience_s)
        memory = Memory()
        with self._access.client(patience) as client:
            api = AirflowApi(client)
            last: Observation | None = None
            while last is None or last.status == "running":
                asked = Asked(_run_api(api, run), run.workflow, memory)
                self._latest.note(_key(run), asked)
                found = asked.observation()
                if found != last:
                    yield found
                last = found
                if found.status == "running":
                    time.sleep(self._access.poll_s)

    def logs(
        self, run: RemoteRun, path: StepPath, *, attempt: int | None = None, follow: bool = False
    ) -> Iterator[str]:
        """Yield the lines of an instance; see `couler.backends.remote.Remote.logs`."""
        api, text = _run_api(self._api, run), str(path)

        def look(last: Look | None) -> Look:
            return look_again(api, run.workflow, last)

        def suits(known: Look) -> bool:
            return known.workflow is run.workflow and known.tries(text) >= (attempt or 1)

        while True:
            asked = self._latest.of(_key(run), look, suits)
            found = self._find(asked, path)
            begun = asked.tries(text)
            is_over = asked.status != "running" or found.stand.status in ENDS
            if begun:
                break
            if is_over or not follow:
                return
            time.sleep(self._access.poll_s)
        [instance] = found.stand.own
        number = attempt or begun
        if not 0 < number <= begun:
            raise EngineError(f"{path} of {run.run_id} has no attempt {number}; it had {begun}")
        if not follow:
            yield from read_log(api, instance, number)
            return

        def has_ended() -> bool:
            one = api.tasks(instance[0]).get(instance)
            return one is None or one.is_over or one.tries > number or one.state == "up_for_retry"

        def was_cut() -> bool:
            one = api.tasks(instance[0]).get(instance)
            return one is not None and one.state == "failed" and is_cancelled(api.get())

        yield from follow_log(
            *(api, instance, number),
            is_over=has_ended,
            was_cut=was_cut,
            between_s=self._access.poll_s,
        )

    def _find(self, asked: Look, path: StepPath) -> Found:
        """Return an instance that runs something."""
        found = asked.steps.found.get(str(path))
        if found is None or not found.runs:
            paths = [name for name, one in asked.steps.found.items() if one.runs]
            raise EngineError(
                f'the run has no step "{path}" that runs something.{did_you_mean(str(path), paths)}'
            )
        return found

    # changing --------------------------------------------------------------------------------

    def cancel(self, run: RemoteRun) -> None:
        """End a run; see `couler.backends.remote.Remote.cancel`."""
        with self._latest.changing():
            ending.cancel(_run_api(self._api, run), run.workflow)

    def restart(self, run: RemoteRun, restart: Restart) -> Mapping[str, Json]:
        """Run parts of a run again; see `couler.backends.remote.Remote.restart`."""
        api = _run_api(self._api, run)
        asked = Look(api, run.workflow)
        if asked.status == "running":
            raise RefusedError(f"airflow: the run {run.run_id} is still under way")
        _refuse_parameters(run, restart, asked.dag_run)
        file = self._dags.for_run(restart.workflow, restart.artifact)
        if file is None or self._dags.is_there(file):
            wanted = self._decide(run, restart, asked)
        else:
            wanted = self._decide_with(file, run, restart, asked)
        if file is not None:
            self._api.pause(restart.workflow.name, paused=False)
        note = str(asked.dag_run.get("note") or "")
        digest = run_digest(restart.workflow, restart.parameters)
        new = taken_up(unmarked(note), digest)
        with self._latest.changing():
            if new != note:
                api.change(note=new)
            api.clear(wanted, dry=False, latest=True)
        return self._place(restart.workflow, restart.artifact, run.run_id)

    def check_restart(self, run: RemoteRun, restart: Restart) -> None:
        """Refuse parameters that a run cannot have any more; see `ChecksRestarts`."""
        _refuse_parameters(run, restart, _run_api(self._api, run).get())

    def _decide(self, run: RemoteRun, restart: Restart, asked: Look) -> list[Instance]:
        """Return the task instances that are to be cleared, by the DAG as Airflow has it now."""
        edges = self._api.edges(restart.workflow.name)
        wanted = to_clear(run.workflow, asked.steps, asked.table, edges, restart.again)
        if not wanted:
            raise _nothing(run)
        others = set(_run_api(self._api, run).clear(wanted, dry=True, latest=True)) - set(wanted)
        if others:
            names = ", ".join(sorted(f"{task}[{index}]" for task, index in others))
            raise RefusedError(f"airflow would run other tasks again as well: {names}")
        return wanted

    def _decide_with(
        self, file: DagFile, run: RemoteRun, restart: Restart, asked: Look
    ) -> list[Instance]:
        """Do so with another DAG file, which is in its place only if nothing is refused."""
        alone = {task: () for task, _ in asked.tasks}
        if not to_clear(run.workflow, asked.steps, asked.table, alone, restart.again):
            raise _nothing(run)
        others = self._dags.others_under_way(file.dag_id, run.run_id)
        if others:
            raise RefusedError(
                f"airflow: {run.run_id} needs another file of the DAG {file.dag_id} than there is, "
                f"and others of its runs are under way with that: {', '.join(sorted(others))}. "
                "Wait until they have ended, or cancel them (`couler cancel`)"
            )
        former = self._dags.former(file)
        if former is not None and not self._dags.is_of(former, run.workflow):
            say(
                f"airflow: the file of the DAG {file.dag_id} is not that with which {run.run_id} "
                "ran before; it becomes that of this run"
            )
        try:
            self._dags.put(file)
            return self._decide(run, restart, asked)
        except RefusedError:
            self._dags.put_back(file, former)
            raise

    def resume(
        self, run: RemoteRun, path: StepPath, entered: Mapping[str, str] | None = None
    ) -> None:
        """Let a step go on that waits; see `couler.backends.remote.Remote.resume`."""
        api, entered = _run_api(self._api, run), entered or {}
        instance: Instance = (own_name("may-start", run.workflow), -1)
        values: dict[str, Json] = {}
        if path:
            found = self._find(Look(api, run.workflow), path)
            step = found.spot.step
            [instance] = found.stand.own
            if found.stand.status != "suspended" or not isinstance(step.action, Suspend):
                raise RefusedError(f"{path} of {run.run_id} does not wait for a person")
            check_entered(step.outputs, entered)
            values = {one.name: one.default for one in step.outputs}
            kinds = {one.name: one.type for one in step.outputs}
            values |= {name: decode(text, kinds[name]) for name, text in entered.items()}
        question = api.question(instance)
        if question is None:
            raise RefusedError(f"{path or 'the start'} of {run.run_id} asks nobody for anything")
        with self._latest.changing():
            api.answer(instance, question["options"][:1], values)

    def delete(self, run: RemoteRun) -> None:
        """Take a run away; see `couler.backends.remote.Remote.delete`. The DAG file stays."""
        with self._latest.changing():
            ending.delete(_run_api(self._api, run), between_s=self._access.poll_s)


def _run_api(api: AirflowApi, run: RemoteRun) -> RunApi:
    return RunApi(api, *_key(run))


def _key(run: RemoteRun) -> tuple[str, str]:
    return str(run.place["dag_id"]), str(run.place["dag_run_id"])


def _nothing(run: RemoteRun) -> RefusedError:
    return RefusedError(f"airflow: nothing of the run {run.run_id} is to run again")


def _refuse_parameters(run: RemoteRun, restart: Restart, dag_run: Mapping[str, Json]) -> None:
    """Refuse a restart with other parameters than those that Airflow began the run with."""
    had = _with_defaults(restart.workflow, dag_run.get("conf") or {})
    wanted = _with_defaults(restart.workflow, _conf(restart.workflow, restart.parameters))
    changed = sorted(one for one in {*had, *wanted} if had.get(one) != wanted.get(one))
    if changed:
        raise RefusedError(
            f"airflow: the run {run.run_id} keeps the parameters that it began with, and "
            f"{', '.join(changed)} would be another. Take it up without, or submit another run "
            f"with {' '.join(f'-p {one}=...' for one in changed)}"
        )


def _conf(workflow: Workflow, parameters: Mapping[str, str]) -> dict[str, Json]:
    """Return the parameters of a run as Airflow takes them: values of their declared types."""
    kinds = {one.name: one.type for one in workflow.parameters}
    return {name: decode(text, kinds.get(name, "str")) for name, text in parameters.items()}


def _with_defaults(workflow: Workflow, conf: Mapping[str, Json]) -> dict[str, Json]:
    defaults = {
        one.name: decode(encode(one.default, one.type), one.type)
        for one in workflow.parameters
        if not one.required and one.config is None
    }
    return {**defaults, **conf}


def _is_off(workflow: Workflow) -> bool:
    return workflow.schedule is not None and workflow.schedule.suspended


_CONTAINER = re.compile(r"\[([a-z0-9]([-a-z0-9]*[a-z0-9])?)\] ?", re.ASCII)
"""What the operator for pods puts before what a container has written: its name."""
_POD_LOGGER = "PodManager"
_OWN = "base"
"""The container of the step itself."""
_TROUBLE = ("error", "critical")
_AIRFLOW = "airflow: "
_NOT_READ = "Could not read"
_READ_ANEW = "log read interrupted but container"
_MOST_REPEATED = 1000
_LATE_LOOKS = 5
"""After how many looks without a new line no more are expected of a try that was cut off."""
_TASK_LOGGERS = ("task.stdout", "task.stderr")


def lines_of(entry: Mapping[str, Json]) -> Iterator[str]:
    """Yield the lines of an entry of a log that are for users."""
    logger, event = str(entry.get("logger", "")), str(entry.get("event", ""))
    named = _CONTAINER.match(event) if logger.endswith(_POD_LOGGER) else None
    if named is not None:
        head = "" if named[1] == _OWN else f"[{named[1]}] "
        for line in event[named.end() :].removesuffix("\n").split("\n"):
            yield head + line
    elif logger in _TASK_LOGGERS:
        yield from event.removesuffix("\n").split("\n")
    elif entry.get("level") in _TROUBLE:
        yield from (f"{_AIRFLOW}{line}" for line in _trouble(entry, event))


def _trouble(entry: Mapping[str, Json], event: str) -> Iterator[str]:
    yield event.partition("\n")[0]
    for one in (entry.get("error_detail") or ())[:1]:  # those behind it are its causes
        yield f"{one.get('exc_type')}: {first_line(str(one.get('exc_value')))}"


def read_log(run: RunApi, instance: Instance, attempt: int) -> list[str]:
    """Return the lines of a try so far."""
    entries = run.log(instance, attempt)
    lines = _own_lines(entries)
    if not all(line.startswith(_AIRFLOW) for line in lines):
        return lines
    return [line for entry in entries for line in _warnings(entry)] + lines


def _own_lines(entries: Iterable[Mapping[str, Json]]) -> list[str]:
    parts: list[list[str]] = [[]]
    for entry in entries:
        if _READ_ANEW in str(entry.get("event", "")):
            parts.append([])
        else:
            parts[-1] += lines_of(entry)
    return joined(parts)


def _warnings(entry: Mapping[str, Json]) -> Iterator[str]:
    """Yield what Airflow warns of; with the step's own lines it says nothing to users."""
    event = str(entry.get("event", ""))
    is_warning = entry.get("level") == "warning" and _READ_ANEW not in event
    if (is_warning and not str(entry.get("logger")).startswith("urllib3.")) or (
        "timestamp" not in entry and event.startswith(_NOT_READ)
    ):
        yield _AIRFLOW + event.partition("\n")[0]


def joined(parts: Iterable[Sequence[str]]) -> list[str]:
    """Return parts of a log as one, without what one repeats of those before it."""
    whole: list[str] = []
    for part in parts:
        most = min(len(whole), len(part), _MOST_REPEATED)
        same = (count for count in range(most, 0, -1) if whole[-count:] == list(part[:count]))
        whole += part[next(same, 0) :]
    return whole


def follow_log(
    run: RunApi,
    instance: Instance,
    attempt: int,
    *,
    is_over: Callable[[], bool],
    was_cut: Callable[[], bool] = lambda: False,
    between_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Yield the lines of a try as they come, until it has ended."""
    known, left = 0, _LATE_LOOKS
    while True:
        ended = is_over()  # before it is read, so that nothing of it is missed
        begun = time.monotonic()
        lines = _own_lines(run.log(instance, attempt))
        took_s = time.monotonic() - begun
        yield from lines[known:]
        left = _LATE_LOOKS if len(lines) > known else left - ended
        known = max(known, len(lines))
        if ended and (left <= 0 or not was_cut()):
            yield from () if known else read_log(run, instance, attempt)
            return
        sleep(max(between_s, 2 * took_s))
