"""The steps of a run, by the task instances that Airflow has of it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from couler.backends.airflow.caching import MARK
from couler.backends.airflow.lower import lowered
from couler.backends.airflow.outputs import RUN_OUTPUTS, declare_results
from couler.backends.airflow.places import (
    Spot,
    axis,
    exit_groups,
    is_dynamic,
    item_count,
    last_steps,
    own_name,
)
from couler.backends.airflow.task_states import (
    BAD,
    Instance,
    Status,
    TaskTable,
    is_open,
    open_status,
)
from couler.backends.remote import ENDS, Json
from couler.ir.graph import Graph
from couler.ir.semantics import find_output
from couler.ir.semantics.status import State, failed_steps
from couler.ir.semantics.wire import encode
from couler.ir.values import StepRef
from couler.ir.walk import HANDLER_PREFIX, StepPath
from couler.ir.workflow import ExitHandler, Group, Step, Suspend, Workflow

_WELL: frozenset[Status] = frozenset({"succeeded", "cached"})
_RAN: frozenset[Status] = frozenset({"succeeded", "failed"})
_RUNS: frozenset[Status] = frozenset({"running", "retrying", "suspended"})
_LEFT_OUT: frozenset[Status] = frozenset({"omitted", "skipped"})
_OMITTED: frozenset[Status] = frozenset({"omitted", None})


@dataclass(frozen=True, slots=True)
class Tasks:
    """What the ids of tasks begin with, and the map index that they have."""

    prefix: str = ""
    index: int = -1

    def within(self, place: str, index: int | None = None) -> Tasks:
        """Return the tasks of a group."""
        return Tasks(f"{place}.", self.index if index is None else index)

    def spot(self, step: Step, beside: frozenset[str]) -> Spot:
        """Return the place of a step of this scope."""
        items = axis(step, within_mapped=self.index >= 0)
        return Spot(step, f"{self.prefix}{step.name}", items, beside)


@dataclass(frozen=True, slots=True)
class Stand:
    """The status and outputs of a step or a scope, and the instances of its own."""

    status: Status
    own: tuple[Instance, ...] = ()
    outputs: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """An instance of a step."""

    path: StepPath
    spot: Spot
    tasks: Tasks
    stand: Stand
    started: datetime | None = None
    finished: datetime | None = None

    @property
    def runs(self) -> bool:
        """Whether it runs something, by its only task."""
        step, last = self.spot.step, self.path[-1]
        is_item = step.foreach is None or last.item is not None
        is_round = step.loop is None or last.round is not None
        return is_item and is_round and not isinstance(step.action, Group)

    @property
    def is_shown(self) -> bool:
        """Whether it is of the user's workflow; a group that a pass made need not be."""
        step = self.spot.step
        is_hidden = isinstance(step.action, Group) and step.action.transparent
        return not is_hidden or any(
            one is not None for one in (step.foreach, step.loop, step.retry)
        )


class RunSteps:
    """How the steps of a run stand."""

    def __init__(
        self,
        workflow: Workflow,
        table: TaskTable,
        returned: Callable[[Instance], object],
        shape: RunShape | None = None,
    ) -> None:
        self.found: dict[str, Found] = {}
        self.inlined: set[str] = set()
        self._shape = RunShape(workflow) if shape is None else shape
        self._workflow = self._shape.workflow
        self._table, self._returned = table, returned
        self._scope(Tasks(), self._workflow.steps, StepPath())
        groups = exit_groups(self._workflow)
        for handler in self._workflow.exit_handlers:
            self._handler(handler, f"{groups[handler.name]}.")
        self._time()

    def run_outputs(self) -> Mapping[str, Json]:
        """Return the outputs of the workflow, of a run that succeeded."""
        if not self._workflow.outputs:
            return {}
        found = self._returned((own_name(RUN_OUTPUTS, self._workflow), -1))
        return found if isinstance(found, Mapping) else {}

    def without_tasks(self) -> tuple[str, ...]:
        """Return the names of steps that the run has no task of, though each has one always."""
        plain = (one for one in self.found.values() if len(one.path) == 1 and one.runs)
        return tuple(
            str(one.path)
            for one in plain
            if one.spot.step.foreach is None
            and one.spot.step.loop is None
            and not one.path[0].name.startswith(HANDLER_PREFIX)
            and not any(self._table.has_state(task) for task in one.stand.own)
        )

    def user_tasks(self) -> set[str]:
        """Return the ids of the tasks that run something of the user's."""
        return {task for one in self.found.values() if one.runs for task, _ in one.stand.own}

    def has_failed_in_a_step(self) -> bool:
        """Return whether something that a user wrote has failed, not just tasks around it."""
        return any(one.stand.status == "failed" and one.runs for one in self.found.values())

    # scopes ----------------------------------------------------------------------------------

    def _handler(self, handler: ExitHandler, prefix: str) -> None:
        path, tasks = StepPath() / f"{HANDLER_PREFIX}{handler.name}", Tasks(prefix)
        gate = (f"{prefix}{own_name('when', handler)}", -1)
        status = self._table.status(gate)
        if status == "succeeded":
            ends = self._scope(tasks, handler.steps, path)
            if is_open(ends.values()):
                status = "running"
            else:
                graph = self._shape.of(handler.steps).graph
                if failed_steps(graph, t.cast("dict[str, State]", ends)):
                    status = "failed"
        elif status is not None and status not in ENDS:
            status = "waiting"  # for what its condition says
        step = Step(name=handler.name, action=Group(steps=handler.steps))
        spot = Spot(step, prefix[:-1], None)
        self._add(path, spot, tasks, Stand(status, (gate,)))

    def _scope(self, scope: Tasks, steps: tuple[Step, ...], path: StepPath) -> dict[str, Status]:
        shape = self._shape.of(steps)
        statuses: dict[str, Status] = {}
        for step in shape.steps:
            spot, at = scope.spot(step, shape.names), path / step.name
            stand = self._step(spot, scope, at)
            self._add(at, spot, scope, stand)
            statuses[step.name] = stand.status
        return statuses

    def _add(self, path: StepPath, spot: Spot, tasks: Tasks, stand: Stand) -> None:
        self.found[str(path)] = Found(path, spot, tasks, stand)

    def _step(self, spot: Spot, scope: Tasks, path: StepPath) -> Stand:
        step = spot.step
        if spot.is_plain and step.foreach is None:
            return self._leaf(step, (spot.base, scope.index))
        status, may_run = self._before(spot, scope)
        stand = Stand(status)
        if may_run and step.foreach is not None:
            stand = self._items(spot, scope, path)
        elif may_run:
            stand = self._item(spot, scope.within(spot.item), path)
        gate = _first_of(spot, scope)
        stand = stand if gate is None else replace(stand, own=(gate, *stand.own))
        if isinstance(step.action, Group) and step.foreach is None and not spot.has_end:
            self.inlined.add(str(path))
            return replace(stand, outputs=self._read_inside(step, path, stand.status))
        return stand if step.foreach is not None else _with_defaults(step, stand)

    def _before(self, spot: Spot, scope: Tasks) -> tuple[Status, bool]:
        """Return how a step of several tasks stands that does not run, and whether it may."""
        gate = _first_of(spot, scope)
        if gate is None or gate not in self._table.tasks:
            found = self._table.statuses(self._table.within(spot.base, scope.index))
            if len(found) == 1 and found <= (_LEFT_OUT if gate is None else {"omitted"}):
                return found.pop(), False
            return None, not found <= _OMITTED  # they are not left out all at once
        status = self._table.status(gate)
        if status is None or status in ENDS:
            return status, status == "succeeded"
        return "waiting", False

    def _leaf(self, step: Step, task: Instance) -> Stand:
        status = self._table.status(task)
        if status == "running" and isinstance(step.action, Suspend) and step.action.seconds is None:
            is_put_off = self._table.tasks[task].state == "deferred"  # as Airflow before 3.3 waits
            status = "suspended" if is_put_off else status
        given = self._given(step, task, status)
        if given.pop(MARK, None) is not None:
            status = "cached"
        return _with_defaults(step, Stand(status, (task,), given))

    def _given(self, step: Step, task: Instance, status: Status) -> dict[str, Json]:
        """Return what a task has given out for a step."""
        can_give = bool(step.outputs) or step.cache is not None
        found = self._returned(task) if status == "succeeded" and can_give else None
        if not isinstance(found, Mapping):
            return {}
        return {
            name: {"text": text, "type": find_output(step, name).type}
            for name, text in found.items()
            if isinstance(text, str)
        }

    def _read_inside(self, step: Step, path: StepPath, status: Status) -> dict[str, Json]:
        """Return outputs of a group that are those of a step inside, as far as these are known."""
        given: dict[str, Json] = {}
        for output in step.outputs if status == "succeeded" else ():
            if isinstance(output.value, StepRef):
                inside = self.found.get(str(path / output.value.step))
                one = inside and inside.stand.outputs.get(output.value.output)
                if isinstance(one, dict) and one["type"] == output.type:
                    given[output.name] = one
        return given

    # items -----------------------------------------------------------------------------------

    def _items(self, spot: Spot, scope: Tasks, path: StepPath) -> Stand:
        foreach = spot.step.foreach
        assert foreach is not None
        count = item_count(foreach)
        if spot.has_maker and (count or is_dynamic(foreach)):
            inside = self._table.within(spot.base)
            count = 1 + max((index for _, index in inside), default=-1)
            status = None if count else self._without_items(spot, scope)
            if status is not None:
                return Stand(status)
        items: list[Stand] = []
        for number in range(count):
            at, tasks = path.at_item(number), scope
            if spot.is_plain:
                item = self._leaf(spot.step, (spot.base, number))
            else:
                index = number if spot.items == "mapped" else scope.index
                tasks = scope.within(spot.item.replace("item_#", f"item_{number}"), index)
                item = self._item(spot, tasks, at)
            items.append(item)
            self._add(at, spot, tasks, _with_defaults(spot.step, item))
        return self._gathered(spot, scope, items)

    def _without_items(self, spot: Spot, scope: Tasks) -> Status:
        """Return how a foreach stands of which Airflow has no items; None if there are none."""
        maker = (spot.maker, scope.index)
        found = self._table.statuses(
            one for one in self._table.within(spot.base, scope.index) if one != maker
        )
        if is_open(found):
            return "running"
        return "omitted" if self._returned(maker) else None

    def _gathered(self, spot: Spot, scope: Tasks, items: list[Stand]) -> Stand:
        """How a foreach stands by its items, with lists of what they gave if it has ended."""
        statuses = {item.status for item in items}
        lists = (spot.own("lists"), scope.index)
        end = self._table.status(lists)
        own = (lists,) if lists in self._table.tasks else ()
        if is_open(statuses):
            return Stand(open_status(statuses), own)
        names = {one.name: None for one in spot.step.outputs}
        names.update((name, None) for item in items for name in item.outputs)
        ran = [item.outputs if item.status in _WELL else {} for item in items]
        outputs = {name: [one.get(name) for one in ran] for name in names}
        if statuses & BAD or end in BAD:
            return Stand("failed", own, outputs)
        if own and end not in ENDS:
            return Stand("running", own)
        return Stand("succeeded", own, outputs)

    def _item(self, spot: Spot, tasks: Tasks, path: StepPath) -> Stand:
        """Return how an item stands, or a step that has none."""
        if spot.step.loop is None:
            return self._round(spot, tasks, path)
        return self._rounds(spot, spot.step.loop.max_iterations, tasks, path)

    # rounds ----------------------------------------------------------------------------------

    def _rounds(self, spot: Spot, most: int, tasks: Tasks, path: StepPath) -> Stand:
        step = spot.step
        last: Stand | None = None
        after: Status = None
        for number in range(most):
            round_ = tasks.within(f"{tasks.prefix}round_{number}")
            first = _first_of_round(step, round_)
            after = self._table.status(first)
            is_known = number == 0 or self._table.is_decided(first, is_retried=bool(step.retry))
            if not (is_known and _is_round(step, number, after)):
                break
            last = _with_defaults(step, self._round(spot, round_, path.at_round(number)))
            self._add(path.at_round(number), spot, round_, last)
        else:
            after = self._table.status((f"{tasks.prefix}{spot.bound}", tasks.index))
        if last is None:
            return Stand(after if after in ENDS or after is None else "waiting")
        return self._loop(spot, tasks, last, after)

    def _loop(self, spot: Spot, tasks: Tasks, last: Stand, after: Status) -> Stand:
        """Return how a loop stands by its last round, and the task that would come after it."""
        if last.status not in ENDS:
            return Stand("waiting" if last.status == "waiting" else "running")
        if last.status == "failed" or after in _RAN or after == "omitted":
            return Stand("failed")
        if after != "skipped":  # by its condition: there is no more round
            return Stand("running")
        if spot.items is None:
            return Stand("succeeded", (), last.outputs)
        return self._closed(spot.step, (f"{tasks.prefix}end", tasks.index))

    def _round(self, spot: Spot, tasks: Tasks, path: StepPath) -> Stand:
        """Return how a round stands, or an item or step without any."""
        step = spot.step
        if not isinstance(step.action, Group):
            return self._leaf(step, (tasks.prefix[:-1], tasks.index))
        gate = _first_of_round(step, tasks)
        if gate in self._table.tasks:
            status = self._table.status(gate)
            if status != "succeeded":
                return Stand(status if status in ENDS or status is None else "waiting", (gate,))
        inside = self._scope(tasks, step.action.steps, path)
        if spot.has_end:
            return self._closed(
                step, (f"{tasks.prefix}{own_name('end', step.action)}", tasks.index)
            )
        if is_open(inside.values()):
            return Stand(open_status(inside.values()))
        ends = {inside[name] for name in last_steps(step.action.steps)}
        return Stand("failed" if BAD & ends else "succeeded")

    def _closed(self, step: Step, end: Instance) -> Stand:
        """Return how something stands that a task ends, which gives its outputs."""
        status = self._table.status(end)
        if status not in ENDS:
            return Stand("running", (end,))
        if status != "succeeded":
            return Stand("failed", (end,))
        return Stand(status, (end,), self._given(step, end, status))

    # times -----------------------------------------------------------------------------------

    def _time(self) -> None:
        """Find when everything began and ended: what holds others, by those."""
        held: dict[str, list[tuple[datetime | None, datetime | None]]] = {}
        for path, one in self.found.items():
            times = [self._table.times(task) for task in one.stand.own]
            times += held.pop(path, [])
            if one.stand.status in ENDS and not any(end for _, end in times):  # left out
                inside = self._table.within(one.spot.base, one.tasks.index)
                times = [(None, self._table.times(task)[1]) for task in inside]
            began = min((start for start, _ in times if start), default=None)
            ended = max((end for _, end in times if end), default=None)
            ended = ended if one.stand.status in ENDS else None
            self.found[path] = replace(one, started=began, finished=ended)
            held.setdefault(str(around(one.path)), []).append((began, ended))


def around(path: StepPath) -> StepPath:
    """Return the path of what holds an instance: the loop of a round, the foreach of an item."""
    last = path[-1]
    if last.round is not None:
        return StepPath((*path[:-1], last._replace(round=None)))
    if last.item is not None:
        return StepPath((*path[:-1], last._replace(item=None)))
    return path.parent


def _first_of(spot: Spot, scope: Tasks) -> Instance | None:
    """Return the task that comes before all others of a step; None for items that are known."""
    foreach = spot.step.foreach
    if spot.is_plain and foreach is not None and not spot.has_maker:
        return None
    return spot.first, scope.index


def _first_of_round(step: Step, round_: Tasks) -> Instance:
    if not isinstance(step.action, Group):
        return round_.prefix[:-1], round_.index
    return f"{round_.prefix}{own_name('when', step.action)}", round_.index


def _is_round(step: Step, number: int, first: Status) -> bool:
    """Return whether there is a round, by its first task; that looks whether there is to be one."""
    if first in _RAN:
        return True
    if isinstance(step.action, Group):
        return False
    return first in _RUNS or (first == "waiting" and number == 0)


def _with_defaults(step: Step, stand: Stand) -> Stand:
    """Return a stand with the defaults of a step that gave nothing."""
    if stand.status in _WELL or stand.status not in ENDS:
        return stand
    defaults = {
        one.name: {"text": encode(one.default, one.type), "type": one.type}
        for one in step.outputs
        if one.default is not None
    }
    return replace(stand, outputs=defaults)


class Shape(t.NamedTuple):
    """The steps of a scope, and their graph."""

    graph: Graph
    steps: tuple[Step, ...]
    """Each after those that it waits for."""
    names: frozenset[str]


class RunShape:
    """A workflow as Airflow runs it."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = declare_results(lowered(workflow))
        self._scopes: dict[int, tuple[tuple[Step, ...], Shape]] = {}

    def of(self, steps: tuple[Step, ...]) -> Shape:
        """Return a scope; it is looked for once."""
        known = self._scopes.get(id(steps))
        if known is None:
            by_name, graph = {step.name: step for step in steps}, Graph.of(steps)
            ordered = tuple(by_name[name] for name in graph.topological_order)
            # The steps are kept as well, so that no others can come to be in their place.
            known = self._scopes[id(steps)] = steps, Shape(graph, ordered, frozenset(by_name))
        return known[1]
