"""Where the instances of a step are among the tasks of a DAG."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from couler.backends.airflow.doubts import has_doubts
from couler.ir.policies import Foreach
from couler.ir.ranges import is_known, known_items
from couler.ir.values import MAX_ITEMS
from couler.ir.walk import predecessors
from couler.ir.workflow import ExitHandler, Group, Step, Workflow

MAX_LISTS = 96 * 1024
"""Most bytes of a list that can travel."""
Axis: t.TypeAlias = t.Literal["mapped", "unrolled"]


def axis(step: Step, *, within_mapped: bool) -> Axis | None:
    """Return how the items of a step become tasks; None if it has no foreach."""
    if step.foreach is None:
        return None
    if is_dynamic(step.foreach):
        return "mapped"
    if not item_count(step.foreach):
        return "unrolled"
    inside = isinstance(step.action, Group) and any(map(_is_map_needed, _steps_inside(step.action)))
    return "unrolled" if within_mapped or inside else "mapped"


def _is_map_needed(step: Step) -> bool:
    foreach = step.foreach
    return foreach is not None and (is_dynamic(foreach) or foreach.max_parallel is not None)


def _steps_inside(group: Group) -> Iterator[Step]:
    for step in group.steps:
        yield step
        if isinstance(step.action, Group):
            yield from _steps_inside(step.action)


def is_dynamic(foreach: Foreach) -> bool:
    """Return whether the items are known only when the workflow runs."""
    return not all(map(is_known, foreach.over.values()))


def item_count(foreach: Foreach) -> int:
    """Return the number of items of a foreach whose items are known."""
    return len(known_items(next(iter(foreach.over.values()))) or ())


@dataclass(frozen=True, slots=True)
class Spot:
    """The tasks of one step."""

    step: Step
    base: str
    items: Axis | None
    beside: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether it is one task, or a single mapped one."""
        return (
            not isinstance(self.step.action, Group)
            and self.step.loop is None
            and self.items != "unrolled"
        )

    @property
    def is_iterated(self) -> bool:
        """Whether it is a group of tasks for items or rounds."""
        return not self.is_plain and (self.items is not None or self.step.loop is not None)

    def own(self, kind: t.Literal["needs", "items", "lists"]) -> str:
        """Return the id of a task of the compiler's own that stands beside it."""
        return self.base[: -len(self.step.name)] + self.own_name(kind)

    def own_name(self, kind: t.Literal["needs", "items", "lists"]) -> str:
        """Return that id without the groups around it."""
        return free(f"{task_name(self.step.name)}-{kind}", self.beside)

    @property
    def has_maker(self) -> bool:
        """Whether a task makes the items; without items it is all that there is of a step."""
        foreach = self.step.foreach
        if foreach is None:
            return False
        is_decided = self.is_plain and self.step.when is not None
        return is_decided or is_dynamic(foreach) or not item_count(foreach)

    @property
    def maker(self) -> str:
        """The task that makes the items, where there is one."""
        return self.own("items") if self.is_plain else f"{self.base}.items"

    @property
    def first(self) -> str:
        """The task that all others of it wait for, where it is more than one and can be omitted."""
        if self.has_maker:
            return self.maker
        return f"{self.base}.when" if self.is_iterated else self.gate

    @property
    def item(self) -> str:
        """One item, as what is inside it writes it: a task, or what its tasks begin with."""
        if self.items is None or self.is_plain:
            return self.base
        return f"{self.base}.item" if self.items == "mapped" else f"{self.base}.item_#"

    @property
    def round(self) -> str:
        """One round of an item, as what is inside it writes it."""
        return self.item if self.step.loop is None else f"{self.item}.round_#"

    @property
    def bound(self) -> str:
        """The name of the task that ends a loop whose rounds were too many."""
        return "" if self.step.loop is None else f"bound_{self.step.loop.max_iterations}"

    @property
    def has_end(self) -> bool:
        """Whether a round ends with a task that gives its outputs and state."""
        is_group = isinstance(self.step.action, Group)
        return is_group and (
            self.is_iterated or ends_in_any_case(self.step) or has_doubts(self.step)
        )

    @property
    def gate(self) -> str:
        """The task by which a round of a group is skipped."""
        assert isinstance(self.step.action, Group)
        return f"{self.round}.{own_name('when', self.step.action)}"

    @property
    def end_of_round(self) -> str:
        """The task with the outputs of a round, as what is inside it writes it."""
        if not isinstance(self.step.action, Group):
            return self.round
        return f"{self.round}.{own_name('end', self.step.action)}"

    def last_round_code(self, output: str) -> str:
        """Return the expression for an output of the last round."""
        return f'output_near(ti, "{another_round(self.end_of_round)}", "{output}")'

    @property
    def end_of_item(self) -> str:
        """The task with the outputs of an item, as what is inside it writes it."""
        return self.end_of_round if self.step.loop is None else f"{self.item}.end"

    def ends(self) -> list[str]:
        """Return the ids of the tasks with which it ends; those of a group without an end none."""
        if self.items is None and self.step.loop is not None:
            return [f"{self.base}.{self.bound}"]
        if self.items == "unrolled":
            assert self.step.foreach is not None
            if self.has_maker:
                return [self.maker]
            head, tail = self.base, self.end_of_item[len(self.base) :]
            return [
                head + tail.replace("#", str(number), 1)
                for number in range(item_count(self.step.foreach))
            ]
        if isinstance(self.step.action, Group) and not self.has_end:
            return []
        return [self.end_of_item]


def another_round(place: str, number: str = "*") -> str:
    """Return the place of another round than that of the reader."""
    head, _, tail = place.rpartition("round_#")
    return f"{head}round_{number}{tail}"


def readable(place: str) -> str:
    """Return a place without what stands for numbers and items."""
    return ".".join(part for part in place.split(".") if "#" not in part and part != "item")


def task_name(step: str) -> str:
    """Return the part of a task's id that stands for a step."""
    return "".join(one if (one.isalnum() and one.isascii()) or one in "_-" else "_" for one in step)


def own_name(name: str, around: Group | Workflow | ExitHandler) -> str:
    """Return a name for a task of the compiler's own inside of a group, or beside all steps."""
    return free(name, {step.name for step in around.steps})


def ids_beside(steps: Iterable[Step]) -> set[str]:
    """Return the ids of steps in their scope, and of all tasks that can be made beside them."""
    names = {step.name for step in steps}
    taken = {task_name(name) for name in names} | names
    for kind in ("needs", "items", "lists"):
        taken.update(free(f"{task_name(name)}-{kind}", names) for name in names)
    return taken


def exit_groups(workflow: Workflow) -> dict[str, str]:
    """Return the names of the groups of the exit handlers."""
    taken = ids_beside(workflow.steps)
    groups: dict[str, str] = {}
    for handler in workflow.exit_handlers:
        groups[handler.name] = free(f"exit-{handler.name}", taken)
        taken.add(groups[handler.name])
    return groups


def free(name: str, taken: t.Collection[str]) -> str:
    """Return a name that no step has."""
    while name in taken:
        name += "_"
    return name


def waits_otherwise(step: Step) -> bool:
    """Return whether a step waits for another end than a success, or one inside it does."""
    if ends_in_any_case(step):
        return True
    return any(not isinstance(entry, str) for entry in step.depends_on)


def ends_in_any_case(step: Step) -> bool:
    """Return whether a task ends it, and fails, also where nothing of it could start."""
    inside = step.action.steps if isinstance(step.action, Group) else ()
    return any(map(waits_otherwise, inside))


def last_steps(steps: Iterable[Step]) -> list[str]:
    """Return the steps of a scope that no other waits for."""
    steps = tuple(steps)
    waited_for = {name for step in steps for name in predecessors(step)}
    return [step.name for step in steps if step.name not in waited_for]


def makes_lists(step: Step) -> bool:
    """Return whether a task looks at the lists of what the items of a step gave."""
    return step.foreach is not None and bool(step.outputs) and not gives_few_numbers(step)


_LONGEST = {"float": 25, "bool": 6, "int": 96}
"""Most characters of a number and a comma; lists of longer ints fail the pod that reads them."""


def gives_plain_lists(step: Step) -> bool:
    """Return whether all items of a function are one task, and give all that they should."""
    is_one_task = axis(step, within_mapped=False) == "mapped" and step.loop is None
    may_lack = any(one.default is not None or one.optional for one in step.outputs)
    return is_one_task and step.is_function and step.when is None and not may_lack


def gives_few_numbers(step: Step) -> bool:
    """Return whether all that the items of a function give are numbers, short as lists."""
    if step.foreach is None or not gives_plain_lists(step):
        return False
    count = MAX_ITEMS if is_dynamic(step.foreach) else item_count(step.foreach)
    return all(count * _LONGEST.get(one.type, MAX_LISTS) < MAX_LISTS for one in step.outputs)
