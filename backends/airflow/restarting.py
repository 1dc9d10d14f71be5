"""Which task instances of a run that has ended run again, for given steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from couler.backends.airflow.instances import Found, RunSteps, around
from couler.backends.airflow.places import exit_groups
from couler.backends.airflow.task_states import Instance, TaskTable
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow

_OBJECTS = ("make-claims", "make-budget", "delete-claims", "delete-budget")
"""Tasks around a whole run: what they make is deleted with its end."""


def to_clear(
    workflow: Workflow,
    steps: RunSteps,
    table: TaskTable,
    edges: Mapping[str, Collection[str]],
    again: Collection[str],
) -> list[Instance]:
    """Return the task instances that run again."""
    closure = _Closure(steps, table, edges)
    if not again:
        if steps.has_failed_in_a_step():
            return []
        closure.add_own_failed()
        closure.spread()
        return sorted(closure.cleared)
    for found in steps.found.values():
        if _is_among(found, again):
            closure.add(_tasks_of(found, table))
            closure.add(_later_rounds(found, table))
    for name in again:
        closure.add(_tasks_around(name, steps, table))
    if not closure.cleared:
        return []
    closure.spread()
    names = {step.name for step in workflow.steps}
    for group in exit_groups(workflow).values():
        closure.add(table.within(group))
    closure.add((one, -1) for one in _OBJECTS if one not in names)
    return sorted(closure.cleared)


class _Closure:
    """The task instances found so far, and what must go with them."""

    def __init__(
        self, steps: RunSteps, table: TaskTable, edges: Mapping[str, Collection[str]]
    ) -> None:
        self.cleared: set[Instance] = set()
        self._table = table
        self._after = edges
        self._before: dict[str, list[str]] = {}
        for name, after in edges.items():
            for one in after:
                self._before.setdefault(one, []).append(name)
        found = steps.found.values()
        self._users = steps.user_tasks()
        self._mapped = {
            f"{one.spot.base}.item."
            for one in found
            if one.spot.items == "mapped" and not one.spot.is_plain
        }
        self._indexes: dict[str, list[int]] = {}
        for task, index in table.tasks:
            self._indexes.setdefault(task, []).append(index)

    def add(self, instances: Iterable[Instance]) -> None:
        """Add task instances, as far as the DAG still has them."""
        self.cleared.update(
            one for one in instances if one in self._table.tasks and one[0] in self._after
        )

    def add_own_failed(self) -> None:
        """Add the tasks of the compiler's own that have failed."""
        self.add(
            one
            for one, task in self._table.tasks.items()
            if task.state == "failed" and one[0] not in self._users
        )

    def spread(self) -> None:
        """Add what must go with the task instances."""
        left = list(self.cleared)
        while left:
            task, index = left.pop()
            behind = self._beside(self._after.get(task, ()), task, index)
            ahead = self._beside(self._before.get(task, ()), task, index)
            new = {
                *(one for one in behind if one[0] not in self._users or not self._is_well(one)),
                *(one for one in ahead if one[0] not in self._users and not self._is_well(one)),
            } - self.cleared
            self.cleared |= new
            left += new

    def _is_well(self, instance: Instance) -> bool:
        return self._table.status(instance) == "succeeded"

    def _beside(self, names: Iterable[str], task: str, index: int) -> Iterator[Instance]:
        """Yield the instances of tasks next to one: those of its own item, in a mapped group."""
        for name in names:
            is_within = any(name.startswith(one) and task.startswith(one) for one in self._mapped)
            for other in self._indexes.get(name, ()):
                if not is_within or index in (-1, other) or other == -1:
                    yield name, other


def _is_among(found: Found, again: Collection[str]) -> bool:
    """Return whether an instance is one of several, or inside of one."""
    parts = found.path
    for length in range(1, len(parts) + 1):
        head, last = parts[: length - 1], parts[length - 1]
        for one in (last, last._replace(round=None), last._replace(round=None, item=None)):
            if str(type(parts)((*head, one))) in again:
                return True
    return False


def _tasks_of(found: Found, table: TaskTable) -> list[Instance]:
    """Return the task instances of a step, with those of the compiler's own beside it."""
    spot, tasks, last = found.spot, found.tasks, found.path[-1]
    if found.runs:
        own = list(found.stand.own)
    elif last.item is not None or last.round is not None:
        own = table.within(tasks.prefix[:-1], tasks.index)
    else:
        own = table.within(spot.base, tasks.index)
    if last.item is None and last.round is None:
        beside = [(spot.own(kind), tasks.index) for kind in ("needs", "items", "lists")]
        own += [one for one in beside if not found.runs or table.status(one) != "succeeded"]
    return own


def _tasks_around(name: str, steps: RunSteps, table: TaskTable) -> list[Instance]:
    """Return what opens the way for an instance that there was none of, in what it will be in."""
    if name in steps.found:
        return []
    found = next((steps.found[one] for one in _holders(name) if one in steps.found), None)
    if found is None or found.runs:
        return []
    own = [one for one in _tasks_of(found, table) if table.status(one) != "succeeded"]
    if found.spot.items == "mapped" and found.path[-1].item is None:
        last = max((index for _, index in table.within(found.spot.base)), default=-1)
        if last >= 0:
            own += table.within(found.spot.base, last)
    return own


def _holders(name: str) -> Iterator[str]:
    """Yield the paths of what holds an instance, the nearest first."""
    path = around(StepPath.parse(name))
    while path:
        yield str(path)
        path = around(path)


def _later_rounds(found: Found, table: TaskTable) -> list[Instance]:
    """Return the task instances of the rounds after one, and of what ends its loop."""
    loop, number = found.spot.step.loop, found.path[-1].round
    if loop is None or number is None:
        return []
    head = found.tasks.prefix[:-1].rpartition(".")[0]
    places = [f"{head}.round_{one}" for one in range(number + 1, loop.max_iterations)]
    places += [f"{head}.{found.spot.bound}", f"{head}.end"]
    return [one for place in places for one in table.within(place, found.tasks.index)]
