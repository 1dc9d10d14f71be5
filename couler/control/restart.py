"""What retrying a remote run would do: which steps are reused, which run again, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from couler.control.past import WELL, Keys, Task, parameter_values, past_tasks, recorded_outputs
from couler.ir import workflow as ir
from couler.ir.base import FrozenDict
from couler.ir.evaluation.foresight import Foresight, Progress
from couler.ir.evaluation.instances import RUNS, Instance
from couler.ir.evaluation.outputs import read_outside, required
from couler.ir.evaluation.places import around, covers, find_places, shown_steps
from couler.ir.evaluation.replay import Finding, PlannedStep, plan_replay
from couler.ir.evaluation.unknown import UnknownValueError
from couler.ir.evaluation.values import RunFacts, View
from couler.ir.paths import HANDLER_PREFIX, StepPath, without_places
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.status import State
from couler.state.records import StepRecord


@dataclass(frozen=True, slots=True)
class Past:
    """A run as it ended."""

    run_id: str
    workflow: ir.Workflow
    parameters: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()
    logical_date: str = ""


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What taking up a run would do."""

    steps: tuple[PlannedStep, ...]
    again: frozenset[str]


def plan_restart(
    past: Past,
    workflow: ir.Workflow | None = None,
    parameters: Mapping[str, str] | None = None,
    *,
    from_step: str | None = None,
    again: Mapping[str, str] = FrozenDict(),
    source_map: SourceMap = NO_CHANGE,
) -> RestartPlan:
    """Return what taking up a run would do with each step, and why."""
    now = past.workflow if workflow is None else workflow
    texts = past.parameters if parameters is None else parameters
    places = () if from_step is None else find_places(now, from_step, source_map)
    records = {record.path: record for record in past.steps}
    by_path = {StepPath.parse(record.path): record for record in past.steps}
    facts = RunFacts(past.run_id, past.logical_date)
    then = View(facts, parameters=parameter_values(past.workflow.parameters, past.parameters))
    view = View(facts, parameters=parameter_values(now.parameters, texts))
    tasks = past_tasks(past.workflow, then, records)
    wanted = {StepPath.parse(path): why for path, why in again.items()}
    wanted |= dict.fromkeys(places, "it is to run again")
    while True:
        known = _Known(Keys(now.volumes), records, tasks, wanted)
        planned = plan_replay(now, view, known, read=read_outside(now), all_handlers=True)
        ends = Ends(now, planned, by_path)
        opened = ends.failed_for_nothing()
        if not opened:
            return RestartPlan(planned, ends.again())
        wanted |= {path: f"{path} failed, and nothing in it did" for path in opened}


@dataclass(frozen=True, slots=True)
class _Known:
    """Finds what keeps its end."""

    keys: Keys
    records: Mapping[str, StepRecord]
    tasks: Mapping[str, Task]
    wanted: Mapping[StepPath, str]
    """What is to run again in any case, and why."""

    def find(self, instance: Instance, view: View, *, since: int) -> Finding:
        """Return what is known of an instance that runs something."""
        record = self.records.get(str(instance.path))
        try:
            key = self.keys.of(instance.step, view)
        except UnknownValueError:
            untold = "a value that it reads is not recorded"
            return Finding("runs", reason=None if since == RUNS else untold)
        for path, why in self.wanted.items():
            if covers(path, instance.path):
                return Finding("runs", reason=why)
        if since == RUNS:
            return Finding("runs")
        if record is None:
            return Finding("runs", reason="it has not run")
        objection = self._objection(instance, record, key, since)
        if objection is not None:
            return Finding("runs", reason=objection)
        state: State = "cached" if record.status == "cached" else "succeeded"
        names = self.tasks[record.path].outputs
        outputs = recorded_outputs(instance, record, names)
        return Finding("reused", state, outputs, record.session)

    def foresee(
        self, _instance: Instance, _foresight: Foresight, _progress: Progress
    ) -> Finding | None:
        """Return nothing: the engine runs what it does not know."""
        return None

    def _objection(
        self, instance: Instance, record: StepRecord, key: str, since: int
    ) -> str | None:
        if record.status not in WELL:
            return f"it {'failed' if record.status == 'failed' else f'was {record.status}'}"
        task = self.tasks.get(record.path)
        if task is None or task.key != key:
            return "its code, definition or inputs have changed"
        if record.session < since:
            return "something that it depends on has run after it"
        names = required(instance.outputs)
        missing = [name for name in names if name not in task.outputs | record.outputs.keys()]
        if missing:
            return f'its output "{missing[0]}" is read now, and was not kept'
        return None


class Ends:
    """Tells which recorded ends hold."""

    def __init__(
        self,
        workflow: ir.Workflow,
        planned: Iterable[PlannedStep],
        records: Mapping[StepPath, StepRecord],
    ) -> None:
        self._steps = shown_steps(workflow)
        self._planned = {StepPath.parse(step.path): step for step in planned}
        self._records = records
        self.kept = {path for path, step in self._planned.items() if self._keeps(path, step)}
        self._around_planned = set(_all_around(self._planned))
        self._around_kept = set(_all_around(self.kept))
        self._own = set(self._find_open())

    def again(self) -> frozenset[str]:
        """Return the paths of what does not keep its end."""
        found = set(self._own)
        if found:  # the run has another end: handlers that it did not have may run
            handlers = {path for path in self._records if _is_in_handler(path)}
            found |= handlers - self.kept - self._around_kept
        return frozenset(map(str, found))

    def failed_for_nothing(self) -> tuple[StepPath, ...]:
        """Return groups, foreachs and loops that failed though all in them keeps its end."""
        in_doubt = set(_all_around((self._planned.keys() - self.kept) | self._own))
        return tuple(
            path
            for path, record in self._records.items()
            if record.status == "failed"
            and path in self._around_kept
            and path not in in_doubt
            and path not in self._planned
        )

    def _keeps(self, path: StepPath, step: PlannedStep) -> bool:
        if step.verdict in ("reused", "runs"):
            return step.verdict == "reused"
        record = self._records.get(path)
        is_same = record is not None and record.status == step.verdict
        return is_same and not step.is_decided_anew

    def _find_open(self) -> Iterator[StepPath]:
        for path in self._planned:
            # A whole that cannot be evaluated fails as it did: what is in it need not run for that.
            if path not in self.kept and path not in self._around_kept:
                yield path
        for path, record in self._records.items():
            if path not in self._planned and not self._is_settled(path, record):
                yield path

    def _is_settled(self, path: StepPath, record: StepRecord) -> bool:
        """Return whether nothing is to be said of what is recorded and has no plan of its own."""
        if path in self._around_planned or _is_in_handler(path):
            return True
        step = self._steps.get(without_places(path))
        if step is None:
            return False  # what it was in has another end without it
        is_whole = Instance(step, path, ()).is_whole or isinstance(step.action, ir.Group)
        return is_whole and record.status in WELL


def _all_around(paths: Iterable[StepPath]) -> Iterator[StepPath]:
    for path in paths:
        yield from around(path)


def _is_in_handler(path: StepPath) -> bool:
    return path[0].name.startswith(HANDLER_PREFIX)
