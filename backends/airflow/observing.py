"""How a run stands, in words of the IR."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from couler.backends.airflow.ends import RUN_STATUS
from couler.backends.airflow.instances import Found, RunShape, RunSteps, around
from couler.backends.airflow.last_tasks import goes_on_soon
from couler.backends.airflow.rest import RunApi, time_of
from couler.backends.airflow.run_note import all_cuts, is_marked
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.backends.airflow.try_ends import TryEnd, end_of_try
from couler.backends.remote import (
    ENDS,
    AttemptState,
    CutOff,
    Json,
    Observation,
    Observed,
    ObservedAttempt,
    RunState,
)
from couler.ir.semantics.status import CANCELLED, FAILED, State, refuse_start
from couler.ir.walk import predecessors
from couler.ir.workflow import Workflow

AT_ONCE = timedelta(seconds=1)
"""How far the ends of tasks are apart that Airflow ends by one call."""

_LOOKS_AT_SILENT = (1, 2, 4, 8)
"""At which looks at a run the log of a try is read that told nothing before."""

_CHANGE_WITH_RUN = ("state", "start_date", "end_date", "note")
"""Fields of a run one of which is another once it was taken up again."""

_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class Memory:
    """What was asked of a run and does not change any more."""

    returned: dict[tuple[Instance, int], Json] = field(default_factory=dict)
    ends: dict[tuple[Instance, int], TryEnd] = field(default_factory=dict)
    silent: dict[tuple[Instance, int], tuple[int, TryEnd]] = field(default_factory=dict)
    """Ends that no log told of yet, with how often they were asked for."""
    shape: RunShape | None = None
    tries: dict[tuple[Instance, int], tuple[Task, ...]] = field(default_factory=dict)


class Look:
    """Where the steps of a run are among its tasks, and how they stand, without what they gave."""

    def __init__(
        self,
        run: RunApi,
        workflow: Workflow,
        dag_run: Mapping[str, Json] | None = None,
        shape: RunShape | None = None,
    ) -> None:
        self.workflow = workflow
        self.shape = RunShape(workflow) if shape is None else shape
        self.dag_run = run.get() if dag_run is None else dag_run
        self.status = run_state(self.dag_run)
        self.tasks = run.tasks()
        was_cancelled = is_cancelled(self.dag_run)
        if self.status == "cancelled" and goes_on_soon(self.dag_run, workflow, self.tasks):
            self.status = "running"
        self.never_run: tuple[str, ...] = ()
        """Steps without a task, in a run that Airflow takes for well: it ran something else."""
        has_failed = was_cancelled or self.status == "failed"
        self.table = TaskTable(self.tasks, has_failed=has_failed, was_cancelled=was_cancelled)
        self.steps = RunSteps(workflow, self.table, self._returned, self.shape)
        if self.status == "succeeded":
            self.never_run = self.steps.without_tasks()
            self.status = "failed" if self.never_run else self.status

    def _returned(self, _instance: Instance) -> Json:
        """Return what a task has returned: here nothing, each would be a call."""
        return None

    def tries(self, path: str) -> int:
        """Return how many tries an instance has begun that runs something."""
        found = self.steps.found.get(path)
        if found is None or not found.runs or found.stand.status is None:
            return 0
        [instance] = found.stand.own
        task = self.tasks.get(instance)
        return 0 if task is None else max(0, task.tries - (found.stand.status == "waiting"))


def look_again(run: RunApi, workflow: Workflow, last: Look | None) -> Look:
    """Return a look at a run; of one that has ended, the last one while nobody has changed it."""
    dag_run = run.get()
    if last is None or last.workflow is not workflow:
        return Look(run, workflow, dag_run)
    is_same = all(dag_run.get(name) == last.dag_run.get(name) for name in _CHANGE_WITH_RUN)
    if is_same and last.status != "running":
        return last
    return Look(run, workflow, dag_run, last.shape)


class Asked(Look):
    """A run as its server tells of it now, with all that its steps gave."""

    def __init__(self, run: RunApi, workflow: Workflow, memory: Memory | None = None) -> None:
        self._run = run
        self._limit_s = workflow.timeout_s
        self._memory = Memory() if memory is None else memory
        self._silent: dict[tuple[Instance, int], TryEnd] = {}
        super().__init__(run, workflow, shape=self._memory.shape)
        self._memory.shape = self.shape

    def observation(self) -> Observation:
        """Return how the run stands."""
        if is_cancelled(self.dag_run):
            self._mark_cancelled()
        unsettled = self._unsettled()
        shown = [
            one
            for path, one in self.steps.found.items()
            if one.is_shown and one.stand.status is not None and path not in unsettled
        ]
        with_failed = {str(around(one.path)) for one in shown if one.stand.status == "failed"}
        steps = [self._observed(one, has_failed=str(one.path) in with_failed) for one in shown]
        steps.sort(key=lambda one: (one.status not in ENDS, one.finished or _LAST))
        started = [one.started for one in steps if one.started is not None]
        is_over = self.status != "running"
        has_failed_step = any(one.status == "failed" and one.message for one in steps)
        return Observation(
            status=self.status,
            steps=tuple(steps),
            outputs=self.steps.run_outputs() if self.status == "succeeded" else {},
            message=None if has_failed_step else self._message(),
            started=min(started, default=time_of(self.dag_run.get("start_date"))),
            finished=time_of(self.dag_run.get("end_date")) if is_over else None,
        )

    def _mark_cancelled(self) -> None:
        """Give what the cancel has ended that state; a scope comes after what is inside."""
        cut_off = CutOff()
        for path, found in self.steps.found.items():
            if found.stand.status == "failed":
                attempts = self._attempts(found) if found.runs else ()
                last = attempts[-1].status if attempts else None
                if cut_off.ended(found.path, last, runs=found.runs):
                    stand = replace(found.stand, status="cancelled")
                    self.steps.found[path] = replace(found, stand=stand)

    def _unsettled(self) -> set[str]:
        """Return the paths of what was left out before all that it depends on has ended."""
        unsettled: set[str] = set()
        for path, found in self.steps.found.items() if self.status == "running" else ():
            parent = found.path.parent
            if found.stand.status not in ("omitted", "skipped"):
                continue
            if found.path != parent / found.spot.step.name:
                continue
            for name in predecessors(found.spot.step):
                before = str(parent / name)
                known = self.steps.found.get(before)
                if before in unsettled or (known and known.stand.status not in ENDS):
                    unsettled.add(path)
        return unsettled

    def _message(self) -> str | None:
        """Return why a run has failed or does not begin, where no step tells it."""
        if self.status == "cancelled":
            return CANCELLED
        if self.status == "running" and self.dag_run.get("state") == "queued":
            dag = self._run.api.dag(self._run.dag_id)
            if dag is not None and dag.get("is_paused"):
                return f"the DAG {self._run.dag_id} is paused in Airflow: nothing of it begins"
        if self.never_run:
            return (
                f"Airflow has run another file of the DAG {self._run.dag_id} than that of this "
                f"run, without its steps {', '.join(self.never_run)}"
            )
        if self.status != "failed":
            return None
        failed = {one: task for one, task in self.tasks.items() if task.state == "failed"}
        for instance, task in failed.items():
            if task.ran and not instance[0].startswith(RUN_STATUS):
                return self._end(instance, task.tries).message or _failed(instance)
        if failed and not self.steps.has_failed_in_a_step():
            [instance, task] = next(iter(failed.items()))
            why = self._end(instance, task.tries).message
            return _failed(instance) + (f": {why}" if why else "")
        if self._limit_s is None:
            return "Airflow ended the run"
        return f"Airflow ended the run; its time limit is {self._limit_s} s"

    def _observed(self, found: Found, *, has_failed: bool) -> Observed:
        stand = found.stand
        assert stand.status is not None, "others are left out"
        attempts = self._attempts(found) if found.runs else ()
        last = attempts[-1] if attempts and stand.status in FAILED else None
        message = None if last is None else last.message or _untold(found.stand.own[0])
        if stand.status == "failed" and not found.runs and not has_failed:
            message = self._own_message(found)
        if stand.status in ("omitted", "skipped"):
            message = self._refusal(found)
        elif stand.status == "cancelled":
            message = CANCELLED
        return Observed(
            path=found.path,
            status=stand.status,
            started=found.started,
            finished=found.finished,
            attempts=attempts,
            message=message,
            exit_code=None if last is None else last.exit_code,
            outputs=stand.outputs,
        )

    def _own_message(self, found: Found) -> str | None:
        """Return why something failed nothing of which did: by a task of the compiler's own."""
        for instance in found.stand.own:
            task = self.tasks.get(instance)
            if task is not None and task.state == "failed":
                return self._end(instance, task.tries).message or _untold(instance)
        return None

    def _refusal(self, found: Found) -> str | None:
        """Return why something did not run, if that is for how others ended."""
        step, parent = found.spot.step, found.path.parent
        if found.path != parent / step.name:
            return None
        states: dict[str, State] = {}
        for name in predecessors(step):
            before = self.steps.found.get(str(parent / name))
            if before is None or before.stand.status not in ENDS:
                return None
            states[name] = t.cast("State", before.stand.status)
        refusal = refuse_start(step, states)
        if refusal is None and found.stand.status == "omitted":
            return "the run ended before"
        return None if refusal is None else refusal.reason

    # tries -----------------------------------------------------------------------------------

    def _attempts(self, found: Found) -> tuple[ObservedAttempt, ...]:
        [instance] = found.stand.own
        task, status = self.tasks[instance], found.stand.status
        if status in ("omitted", "skipped") or not task.tries:
            return ()
        tries = list(self._earlier(instance, task)) if task.tries > 1 else []
        if status != "waiting" and not any(one.tries == task.tries for one in tries):
            tries.append(task)
        return tuple(self._attempt(instance, one) for one in tries)

    def _earlier(self, instance: Instance, task: Task) -> tuple[Task, ...]:
        """Return the tries before the latest, and that if another is to come."""
        key = (instance, task.tries if task.state != "up_for_retry" else -task.tries)
        if key not in self._memory.tries:
            found = self._run.tries(instance)
            is_known = {one.tries: one for one in found if one.is_over and one.ran}
            latest = task.tries + (task.state == "up_for_retry")
            self._memory.tries[key] = tuple(is_known[one] for one in is_known if one < latest)
        return self._memory.tries[key]

    def _attempt(self, instance: Instance, task: Task) -> ObservedAttempt:
        state: AttemptState = "running"
        end = TryEnd()
        if task.state == "success":
            state = "succeeded"
        elif task.state in ("failed", "skipped"):
            is_cut = _was_cut(self.dag_run, task)  # then its log has nothing to tell
            if not is_cut:
                end = self._end(instance, task.tries)
                state = "failed" if end.is_failure else "error"
                was_killed = end.was_killed and end.exit_code is None
                is_cut = was_killed and is_cancelled(self.dag_run)
            if is_cut:
                state, end = "cancelled", TryEnd(CANCELLED)
        return ObservedAttempt(
            number=task.tries,
            status=state,
            started=task.started,
            finished=None if state == "running" else task.finished,
            exit_code=end.exit_code,
            message=end.message,
        )

    def _end(self, instance: Instance, number: int) -> TryEnd:
        """Return how a try ended, by its log, which is read once if it tells."""
        key, memory = (instance, number), self._memory
        if key in memory.ends:
            return memory.ends[key]
        if key in self._silent:
            return self._silent[key]
        looks, known = memory.silent.get(key, (0, TryEnd()))
        looks += 1
        if looks in _LOOKS_AT_SILENT or self.status != "running":
            known = end_of_try(self._run.log(instance, number))
        if known.message is None:
            memory.silent[key] = looks, known
            self._silent[key] = known
        else:
            memory.ends[key] = known
        return known

    def _returned(self, instance: Instance) -> Json:
        task = self.tasks.get(instance)
        if task is None or task.state != "success":
            return None
        key = (instance, task.tries)
        if key not in self._memory.returned:
            self._memory.returned[key] = self._run.returned(instance)
        return self._memory.returned[key]


def _failed(instance: Instance) -> str:
    """Return that a task of the compiler's own has failed, which no step tells."""
    return f'Airflow\'s task "{instance[0]}" failed, and no step of the workflow did'


def _untold(instance: Instance) -> str:
    return f'Airflow\'s task "{instance[0]}" failed, and its log does not tell why'


def run_state(dag_run: Mapping[str, Json]) -> RunState:
    """Return how a DAG run stands."""
    state = dag_run.get("state")
    if state == "success":
        return "succeeded"
    if state == "failed":
        return "cancelled" if is_cancelled(dag_run) else "failed"
    return "running"


def is_cancelled(dag_run: Mapping[str, Json]) -> bool:
    """Return whether a DAG run was ended by `Remote.cancel`, or is about to be."""
    return is_marked(str(dag_run.get("note") or ""))


def _was_cut(dag_run: Mapping[str, Json], task: Task) -> bool:
    """Return whether a try was ended by the end of its run."""
    cuts = all_cuts(str(dag_run.get("note") or ""))
    return task.finished is not None and any(abs(task.finished - one) < AT_ONCE for one in cuts)
